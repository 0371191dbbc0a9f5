//! The server: one page, and the events that keep it up to date.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::unfold;
use tokio::sync::watch::Receiver;

use super::Current;
use crate::page::{Life, Page};
use crate::portrait::Stage;

/// A visitor who lost the server comes again after so long.
const RETRY: Duration = Duration::from_secs(1);
/// A sign of life for visitors, when there is nothing new.
const ALIVE: Duration = Duration::from_secs(15);

/// So long a visitor may take to let go when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves until nobody sends any more.
pub async fn serve(listener: TcpListener, current: Receiver<Current>) -> io::Result<()> {
    let mut end = current.clone();
    let routes = Router::new()
        .route("/", get(whole))
        .route("/events", get(events))
        .layer(middleware::from_fn(guard))
        .with_state(current);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut last = end.clone();
    let over = async move { while end.changed().await.is_ok() {} };
    let patience = async move {
        while last.changed().await.is_ok() {}
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::select! {
        served = axum::serve(listener, routes).with_graceful_shutdown(over) => served,
        () = patience => Ok(()),
    }
}

/// Answers only who asked for this machine by name: a page from elsewhere whose name has been made to lead here learns nothing.
async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    if !["127.0.0.1", "localhost"].contains(&name) {
        return (StatusCode::FORBIDDEN, "this page is for this machine alone: http://127.0.0.1\n")
            .into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    response
}

async fn whole(State(current): State<Receiver<Current>>) -> Html<String> {
    let Current { title, sections, .. } = current.borrow().clone();
    Html(Page { title, sections }.to_html(Life::Live))
}

/// First everything, for a visitor may have been away; then what has changed.
async fn events(State(current): State<Receiver<Current>>) -> impl IntoResponse {
    let stream = unfold(Visitor::new(current), |mut visitor| async move {
        let event = visitor.next().await?;
        Some((Ok::<_, Infallible>(event), visitor))
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE))
}

/// Somebody who looks at the page, and what they have seen.
struct Visitor {
    current: Receiver<Current>,
    seen: BTreeMap<&'static str, String>,
    told: Option<(Stage, Option<String>)>,
}

impl Visitor {
    fn new(current: Receiver<Current>) -> Self {
        Self { current, seen: BTreeMap::new(), told: None }
    }

    /// The next thing to tell; none once nobody sends any more.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let now = self.current.borrow_and_update().clone();
            if let Some(event) = self.sections(&now).or_else(|| self.stage(&now)) {
                return Some(event.retry(RETRY));
            }
            self.current.changed().await.ok()?;
        }
    }

    fn sections(&mut self, now: &Current) -> Option<Event> {
        let mut changed = BTreeMap::new();
        for section in &now.sections {
            if self.seen.get(section.id) != Some(&section.html) {
                self.seen.insert(section.id, section.html.clone());
                changed.insert(section.id, section.html.as_str());
            }
        }
        let data = serde_json::to_string(&changed).expect("text is JSON");
        (!changed.is_empty()).then(|| Event::default().event("sections").data(data))
    }

    fn stage(&mut self, now: &Current) -> Option<Event> {
        let stage = (now.stage, now.trouble.clone());
        if self.told.as_ref() == Some(&stage) {
            return None;
        }
        self.told = Some(stage);
        if let Some(trouble) = &now.trouble {
            return Some(Event::default().event("trouble").data(trouble.replace(['\n', '\r'], " ")));
        }
        let word = match now.stage {
            Stage::Training => "training",
            Stage::Stopped => "stopped",
            Stage::Over => "over",
        };
        Some(Event::default().event("stage").data(word))
    }
}
