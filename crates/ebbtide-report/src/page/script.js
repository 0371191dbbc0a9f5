"use strict";
// What a pointer finds: the nearest strip of a chart says what it stands for.
const tip = document.createElement("div");
tip.id = "tip";
tip.hidden = true;
document.body.append(tip);
const point = (event) => {
  const strip = event.target instanceof Element && event.target.closest("[data-tip]");
  tip.hidden = !strip;
  if (!strip) return;
  tip.textContent = strip.dataset.tip;
  const beside = event.clientX + 16 + tip.offsetWidth > innerWidth ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16;
  tip.style.left = `${Math.max(4, beside)}px`;
  tip.style.top = `${Math.max(4, Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 4))}px`;
};
document.addEventListener("pointermove", point);
document.addEventListener("pointerdown", point);
document.addEventListener("pointerleave", () => { tip.hidden = true; });
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

// Paper has no room for what is folded away.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));

// A live page takes the sections that have changed from the server that it came from.
const link = document.getElementById("link");
if (link) {
  let stage = "";
  const tell = (kind, text) => {
    link.className = `badge ${kind}`;
    link.textContent = text;
  };
  const words = { training: ["good", "live"], stopped: ["fair", "nobody is training"], over: ["plain", "the run is over"] };
  const source = new EventSource("events");
  source.addEventListener("sections", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const section = document.getElementById(id);
      if (section) section.innerHTML = html;
    }
    tip.hidden = true;
  });
  source.addEventListener("stage", (event) => {
    stage = event.data;
    tell(...(words[stage] || ["plain", stage]));
  });
  source.addEventListener("trouble", (event) => tell("poor", event.data));
  source.onerror = () => tell("fair", stage === "over" ? "the run is over; the server is gone" : "connection lost; trying again");
}
