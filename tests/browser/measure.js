// Where everything in a page stands, in pixels of its window, and what colour it has.

const box = (element) => {
  const { left, top, right, bottom } = element.getBoundingClientRect();
  return { left, top, right, bottom };
};

// Every drawing: its own box, its plot area, its texts.
const drawings = () => [...document.querySelectorAll("svg")].map((drawing) => {
  const { a: scale, e: left, f: top } = drawing.getScreenCTM();
  const window = drawing.querySelector("clipPath rect");
  const [x, y, width, height] = ["x", "y", "width", "height"].map((side) => scale * window[side].baseVal.value);
  return {
    name: drawing.closest("figure")?.id ?? location.pathname,
    role: drawing.getAttribute("role"),
    seen: drawing.checkVisibility({ opacityProperty: true, visibilityProperty: true }),
    box: box(drawing),
    plot: { left: left + x, top: top + y, right: left + x + width, bottom: top + y + height },
    texts: [...drawing.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => ({
      words: text.textContent,
      anchor: text.getAttribute("text-anchor"),
      size: scale * parseFloat(getComputedStyle(text).fontSize),
      box: box(text),
    })),
  };
});

// Figures of tiles, or errors of figures, that are torn between two lines.
const tornFigures = () => [...document.querySelectorAll(".tiles dd:not(.note), .tiles dd small")]
  .flatMap((element) => [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE))
  .filter((words) => {
    const range = document.createRange();
    range.selectNodeContents(words);
    return new Set([...range.getClientRects()].map((line) => line.top)).size > 1;
  })
  .map((words) => words.data);

const channels = (colour) => colour.match(/[\d.]+/g).map(Number);

// The first background behind an element that can be seen.
const paper = (element) => {
  for (let behind = element; behind; behind = behind.parentElement) {
    const colour = channels(getComputedStyle(behind).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour.slice(0, 3);
  }
  return [255, 255, 255];
};

// Every element with words of its own: which, in what colour, on what.
const writing = () => [...document.body.querySelectorAll("*:not(script, style, title)")]
  .filter((element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
  .filter((element) => element.checkVisibility({ visibilityProperty: true }))
  .map((element) => {
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement;
    const ink = channels(drawn ? style.fill : style.color).slice(0, 3);
    return { words: element.textContent.slice(0, 60), drawn, ink, paper: paper(element) };
  });

// Every colour written into a drawing, with each that it is shown in.
const paints = () => {
  const found = new Map();
  for (const name of ["fill", "stroke"]) {
    for (const element of document.querySelectorAll(`svg [${name}^="#"]`)) {
      const pair = [element.getAttribute(name), channels(getComputedStyle(element)[name]).slice(0, 3)];
      found.set(pair.join(), pair);
    }
  }
  return [...found.values()];
};

const background = () => paper(document.body);
