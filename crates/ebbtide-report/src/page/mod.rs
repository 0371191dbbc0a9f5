//! Pages: sections of words and figures in one file that needs nothing else.
//!
//! ```
//! use ebbtide_report::page::{Life, Page, Section, section};
//! use maud::html;
//!
//! let words = section("words", Some(html! { p { "ELBO < log Z" } }));
//! assert_eq!(words, Section { id: "words", html: "<p>ELBO &lt; log Z</p>".to_owned() });
//! let page = Page { title: "Bounds".to_owned(), sections: vec![words, section("curves", None)] };
//!
//! let (file, served) = (page.to_html(Life::Still), page.to_html(Life::Live));
//! assert!(file.contains("<section id=\"curves\"></section>"));
//! // Who comes to a server is told whether it is still there.
//! assert!(served.contains("connecting") && !file.contains("connecting"));
//! ```

mod comparison;
mod run;

pub use comparison::comparison;
pub(crate) use run::sections;
pub use run::{Shown, run};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::{Chart, Colour};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// What a page may load: what is written in it, and events of the server that it came from.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'";

/// A page in parts that can be replaced one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What a window or a bookmark calls it.
    pub title: String,
    /// From top to bottom.
    pub sections: Vec<Section>,
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name in the page.
    pub id: &'static str,
    /// What is in it; empty if there is nothing to say yet.
    pub html: String,
}

/// Whether a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It is a file.
    Still,
    /// It comes from a server that sends what has changed.
    Live,
}

impl Page {
    /// The whole file.
    pub fn to_html(&self, life: Life) -> String {
        let dark = format!(
            "@media screen and (prefers-color-scheme: dark) {{\n{}}}\n",
            Colour::dark_rules("figure svg")
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    link rel="icon" href="data:,";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(dark)) }
                }
                body {
                    main {
                        @for section in &self.sections {
                            section id=(section.id) { (PreEscaped(&section.html)) }
                        }
                    }
                    footer { "Made by Ebbtide " (env!("CARGO_PKG_VERSION")) "." }
                    @if life == Life::Live { div id="link" class="badge plain" role="status" { "connecting" } }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }
}

/// A section of these parts; without any, an empty one.
pub fn section(id: &'static str, parts: Option<Markup>) -> Section {
    Section { id, html: parts.map_or_else(String::new, Markup::into_string) }
}

/// A chart with its caption.
fn figure(chart: &Chart) -> Markup {
    html! {
        figure id=(chart.name) {
            (PreEscaped(chart.for_page()))
            @if !chart.caption.is_empty() { figcaption { (chart.caption) } }
        }
    }
}

/// Charts side by side, in the manner of a class of the style: `charts`, `small`, `strip`.
fn figures(class: &str, charts: &[Chart]) -> Markup {
    html! { div class=(class) { @for chart in charts { (figure(chart)) } } }
}
