// The studio's own part of the page: the timeline, the bar of buttons over the stage, keys, notices and the help.
//
// The server tells what there is with `posableStage.show(topic, value)`; what a user does goes back as a message of the
// type StageAction (posable/studio/server.py). Text from the server is only ever put into the page as text.
(() => {
  "use strict";
  const SEEN = "posable-hint-seen", DARK = "posable-dark";
  const LARGE = "(min-width: 2800px) and (max-resolution: 1.25dppx)";  // as in stage.css
  const state = {
    clock: { time: 0, playing: false, speed: 1, loop: true, duration: 0, fps: 60, received: 0 },
    lanes: [], keys: [], messages: [], tools: {},
  };
  const view = { from: 0, to: null };  // seconds that the timeline shows; null is the end
  let scrubbing = null, dragging = null;

  const send = (action, value) =>
    window.__viserMutable?.sendMessage({ type: "StageAction", action, value: value ?? null });

  // Elements.
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child != null));
    return element;
  };
  const ICONS = {
    start: "M3 3h2v10H3zM13 3v10L6 8z", back: "M4 3h2v10H4zM12 4v8L7 8z", play: "M4 3l9 5-9 5z",
    pause: "M4 3h3v10H4zM9 3h3v10H9z", forward: "M10 3h2v10h-2zM4 4v8l5-4z", end: "M11 3h2v10h-2zM3 3v10l7-5z",
    undo: "M7 3 2 7l5 4V8.4c3 0 5 .8 6.5 3.6C13 8.5 11 5.7 7 5.6z",
    redo: "M9 3l5 4-5 4V8.4c-3 0-5 .8-6.5 3.6C3 8.5 5 5.7 9 5.6z",
    bell: "M8 1.5a4 4 0 0 0-4 4V9l-1.5 2.5h11L12 9V5.5a4 4 0 0 0-4-4zM6.5 12.5a1.5 1.5 0 0 0 3 0z",
  };
  const icon = (name) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 16 16");
    svg.setAttribute("aria-hidden", "true");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", ICONS[name]);
    svg.append(path);
    return svg;
  };
  const button = (label, act, { symbol, text, wide, hint } = {}) =>
    make("button", {
      type: "button", "aria-label": label, title: hint ?? label, class: wide ? "wide" : "",
      onclick: (event) => { event.currentTarget.blur(); act(event); },  // else the next press of space presses it
    }, symbol ? icon(symbol) : text ?? label);

  const play = button("Play", () => send("time", play.getAttribute("aria-label")), { symbol: "play" });
  const loop = button("Loop on", () => send("time", "Loop"), { wide: true });
  const speed = make("span", { class: "wide" });
  const now = make("span", { class: "now" });
  const whole = button("Whole motion", () => { view.from = 0; view.to = null; lay(); }, { text: "Fit", wide: true });
  const notice = make("button", {
    type: "button", class: "notice", "aria-label": "Messages", title: "All messages", onclick: () => openMessages(),
  }, icon("bell"));
  const canvas = make("canvas"), marks = make("div"), cursor = make("div", { class: "stage-cursor" });
  const tracks = make("div", { class: "stage-tracks", role: "slider", "aria-label": "Time" }, canvas, marks, cursor);
  const timeline = make("div", { id: "stage-timeline", class: "stage", role: "region" },
    make("div", { class: "stage-controls" },
      make("span", { class: "name" }, "Timeline"),
      button("Start", () => send("time", "Start"), { symbol: "start" }),
      button("Back", () => send("time", "Back"), { symbol: "back" }), play,
      button("Forward", () => send("time", "Forward"), { symbol: "forward" }),
      button("End", () => send("time", "End"), { symbol: "end" }),
      make("span", { class: "gap" }),
      button("Slower", () => send("time", "Slower"), { text: "−" }), speed,
      button("Faster", () => send("time", "Faster"), { text: "+" }), loop, now, whole,
      make("span", { class: "gap" }),
      button("Undo", () => send("history", "Undo"), { symbol: "undo" }), button("Redo", () => send("history", "Redo"), { symbol: "redo" }),
      notice),
    tracks);
  const camera = (label, text) => button(label, () => send("camera", label), { text });
  const follow = button("Follow", () => send("follow", follow.getAttribute("aria-pressed") !== "true"),
    { hint: "Keep the body in the middle while it travels" });
  const dark = button("Dark", () => setDark(dark.getAttribute("aria-pressed") !== "true"), { hint: "Light or dark" });
  const gap = () => make("span", { class: "gap" });
  const tools = make("div", { id: "stage-tools", class: "stage", role: "toolbar", "aria-label": "View" },
    camera("Front"), camera("Side"), camera("Top"), camera("Three-quarter", "¾"), camera("Frame all", "All"), follow,
    gap(), button("Save", () => send("save"), { hint: "Save the motion (Ctrl+S)" }),
    button("Picture", () => send("picture", size()), { hint: "A picture of what is seen" }),
    button("Video", () => openVideo(), { hint: "The motion as a video, as it is seen" }), gap(), dark,
    button("Help", () => openHelp(), { text: "?", hint: "Help: all keys" }));
  const progress = make("div", { id: "stage-progress", class: "stage", role: "status", hidden: "" });
  const hint = make("div", { id: "stage-hint", class: "stage", hidden: "" });
  const drop = make("div", { id: "stage-drop", class: "stage", hidden: "" },
    make("p", {}, "Drop files to open them."), make("p", {}, "A motion dropped on a body is performed by it."));
  const sheet = make("div", {
    id: "stage-sheet", class: "stage", hidden: "", role: "dialog",
    onclick: (event) => { if (event.target === sheet) close(); },
  });

  // The timeline. Time in the page goes on by itself; the server says when it plays, stops, or is elsewhere.
  const moment = () => {
    const c = state.clock;
    if (scrubbing !== null) return scrubbing;
    if (!c.playing || !c.duration) return c.time;
    const t = c.time + ((performance.now() - c.received) / 1000) * c.speed;
    if (t >= 0 && t <= c.duration) return t;
    return c.loop ? ((t % c.duration) + c.duration) % c.duration : Math.min(Math.max(t, 0), c.duration);
  };
  const span = () => {
    const length = Math.max(state.clock.duration, 1 / state.clock.fps);
    return [view.from, Math.min(view.to ?? length, length)];
  };
  const width = () => tracks.clientWidth || 1;
  const toX = (t) => { const [a, b] = span(); return ((t - a) / (b - a)) * width(); };
  const toTime = (x) => { const [a, b] = span(); return a + (x / width()) * (b - a); };
  const localX = (event) => {  // a large screen has all of it larger
    const box = tracks.getBoundingClientRect();
    return ((event.clientX - box.left) * width()) / box.width;
  };

  const RULER = 18;
  const drawRuler = () => {
    const ratio = window.devicePixelRatio || 1, w = width(), h = tracks.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--stage-${name}`).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, w, h);
    pen.fillStyle = colour("raised");
    pen.fillRect(0, RULER, w, h - RULER);
    const [a, b] = span(), fps = state.clock.fps;
    const wanted = ((b - a) / w) * 80;  // seconds between two labels, at least
    const frames = [1, 2, 5, 10].map((count) => count / fps).filter((each) => each < 0.25);
    const step = [...frames, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 600].find((each) => each >= wanted) ?? 1800;
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "top";
    for (let k = Math.ceil(a / step); k * step <= b + 1e-9; k += 1) {
      const x = Math.round(toX(k * step)) + 0.5;
      pen.strokeStyle = colour("line");
      pen.beginPath();
      pen.moveTo(x, RULER - 5);
      pen.lineTo(x, h);
      pen.stroke();
      const text = step < 0.25 ? `${Math.round(k * step * fps)}` : `${+(k * step).toFixed(2)} s`;
      pen.fillStyle = colour("faint");
      pen.fillText(text, Math.min(Math.max(x - pen.measureText(text).width / 2, 0), w - pen.measureText(text).width), 1);
    }
  };
  const rowsOf = (lane) => {  // marks that overlap lie on rows of their own
    const ends = [];
    return lane.marks.map((mark) => {
      let row = ends.findIndex((end) => end <= mark.first);
      if (row < 0) row = ends.push(0) - 1;
      ends[row] = mark.last;
      return row;
    });
  };
  const lay = () => {
    drawRuler();
    const fps = state.clock.fps, room = Math.max(tracks.clientHeight - RULER - 2, 10);
    const rows = state.lanes.map(rowsOf), counts = rows.map((each) => Math.max(...each, 0) + 1);
    // Where room is short, lanes that nobody grips become thin first, so that the others can be read and gripped.
    const rowsWhere = (moves) => counts.reduce((sum, n, l) => sum + (state.lanes[l].moves === moves ? n : 0), 0);
    const [gripped, still] = [rowsWhere(true), rowsWhere(false)];
    const low = Math.min(15, Math.max((room - 15 * gripped) / Math.max(still, 1), 4));
    const high = Math.min(15, (room - low * still) / Math.max(gripped, 1));
    marks.replaceChildren();
    let top = RULER + 1;
    state.lanes.forEach((lane, l) => {
      const height = Math.max(lane.moves ? high : low, 2);
      lane.marks.forEach((mark, m) => {
        const shift = dragging?.lane === lane.name && dragging.key === mark.key ? dragging.frames : 0;
        const part = shift ? dragging.part : "all";
        const opposite = part !== "all" && dragging.both ? -shift : 0;  // with Shift the other end moves as far
        const first = mark.first + (part !== "last" ? shift : opposite);
        const last = mark.last + (part !== "first" ? shift : opposite);
        if (toX(last / fps) < 0 || toX(first / fps) > width()) return;
        const x0 = Math.max(toX(first / fps), -8), x1 = Math.min(Math.max(toX(last / fps), x0 + 2), width() + 8);
        const y = top + rows[l][m] * height;
        const bar = make("div", {
          class: `stage-mark${lane.moves ? "" : " still"}${mark.muted ? " muted" : ""}${mark.chosen ? " chosen" : ""}`,
          title: `${lane.name}: ${mark.label}`, "data-key": mark.key,
          style: `left:${x0}px;width:${x1 - x0}px;top:${y}px;height:${Math.max(height - 1, 2)}px;` +
            `background:${mark.colour}`,
        }, height > 11 && x1 - x0 > 26 ? make("span", { style: `margin-left:${Math.max(0, -x0)}px` }, mark.label) : null);
        if (lane.moves) {
          for (const end of ["first", "last"]) bar.append(make("div", { class: `end ${end}`, "data-end": end }));
          bar.addEventListener("pointerdown", (event) => grab(event, lane, mark));
        }
        marks.append(bar);
        for (const at of mark.at) {
          const x = toX((at + (part === "all" ? shift : 0)) / fps), size = Math.min(8, height);
          marks.append(make("div", {
            class: "stage-key",
            style: `left:${x}px;top:${y + (height - 1 - size) / 2}px;width:${size}px;height:${size}px;` +
              `margin-left:${-size / 2}px;background:${mark.key_colour}`,
          }));
        }
      });
      top += counts[l] * height;
    });
    tick();
  };
  const tick = () => {
    const t = moment(), [a, b] = span(), c = state.clock;
    if (c.playing && view.to !== null && (t < a || t > b)) {  // the view goes along, a page at a time
      const length = b - a;
      view.from = Math.min(Math.max(t, 0), Math.max(c.duration - length, 0));
      view.to = view.from + length;
      return lay();
    }
    cursor.style.left = `${toX(t)}px`;
    cursor.hidden = t < a - 1e-6 || t > b + 1e-6;
    const frame = Math.round(t * c.fps);
    now.textContent = `${t.toFixed(2)} s · frame ${frame} of ${Math.round(c.duration * c.fps)}`;
    tracks.setAttribute("aria-valuenow", frame);
  };
  const animate = () => {
    if (state.clock.playing) tick();
    requestAnimationFrame(animate);
  };
  const scrub = (event) => {
    scrubbing = Math.min(Math.max(toTime(localX(event)), 0), state.clock.duration);
    scrubbing = Math.round(scrubbing * state.clock.fps) / state.clock.fps;
    state.clock.time = scrubbing;
    state.clock.playing = false;
    tick();
    send("scrub", scrubbing);
  };
  const grab = (event, lane, mark) => {
    event.stopPropagation();
    tracks.setPointerCapture(event.pointerId);
    dragging = {
      lane: lane.name, key: mark.key, part: event.target.dataset.end ?? "all", x: localX(event), frames: 0,
    };
    send("choose", [lane.name, mark.key]);
  };
  tracks.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    tracks.setPointerCapture(event.pointerId);
    scrub(event);
  });
  tracks.addEventListener("pointermove", (event) => {
    if (dragging) {
      const [a, b] = span();
      const frames = Math.round(((localX(event) - dragging.x) / width()) * (b - a) * state.clock.fps);
      if (frames !== dragging.frames || event.shiftKey !== dragging.both) {
        [dragging.frames, dragging.both] = [frames, event.shiftKey];
        lay();
      }
    } else if (scrubbing !== null) scrub(event);
  });
  const release = (event) => {
    if (dragging?.frames) send("move", [dragging.lane, dragging.key, dragging.part, dragging.frames, event.shiftKey]);
    dragging = scrubbing = null;
    lay();
  };
  tracks.addEventListener("pointerup", release);
  tracks.addEventListener("pointercancel", () => { dragging = scrubbing = null; lay(); });
  tracks.addEventListener("dblclick", () => { view.from = 0; view.to = null; lay(); });
  tracks.addEventListener("wheel", (event) => {
    event.preventDefault();
    const [a, b] = span(), length = Math.max(state.clock.duration, 1 / state.clock.fps);
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) {
      const by = ((event.deltaX || event.deltaY) / width()) * (b - a);
      view.from = Math.min(Math.max(a + by, 0), length - (b - a));
      view.to = view.from + (b - a);
    } else {
      const middle = toTime(localX(event)), factor = Math.exp(event.deltaY * 0.002);
      const wanted = Math.min(Math.max((b - a) * factor, 4 / state.clock.fps), length);
      view.from = Math.min(Math.max(middle - ((middle - a) / (b - a)) * wanted, 0), length - wanted);
      view.to = wanted >= length ? null : view.from + wanted;
    }
    lay();
  }, { passive: false });

  // Keys: those that the server has bound, unless somebody writes into a field. Handled before viser's camera sees them.
  const pressed = (event) => {
    let key = event.key === " " ? "space" : event.key.toLowerCase();
    if (key.length === 1 && key.charCodeAt(0) > 127) key = event.code.replace(/^Key|^Digit/, "").toLowerCase();
    const held = [[event.ctrlKey || event.metaKey, "ctrl"], [event.altKey, "alt"], [event.shiftKey, "shift"]];
    return [...held.filter(([on]) => on).map(([, name]) => name), key].join("+");
  };
  const writing = (element) => {
    if (element?.isContentEditable || ["TEXTAREA", "SELECT"].includes(element?.tagName)) return true;
    const kinds = ["button", "checkbox", "radio", "range", "file", "submit"];
    return element?.tagName === "INPUT" && !kinds.includes(element.type);
  };
  window.addEventListener("keydown", (event) => {
    dismissHint();
    if (event.key === "Escape" && !sheet.hidden) {
      close();
      event.stopImmediatePropagation();
      return;
    }
    const bound = state.keys.find((each) => each.press === pressed(event));
    if (!bound || writing(event.target)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat && !bound.repeats) return;
    send("key", bound.press);
  }, true);
  window.addEventListener("pointerdown", () => dismissHint(), true);

  // Files that are dropped. The server is told where, says which upload takes them, and again when the next may come.
  const PART = 512 * 1024;  // bytes
  let dropped = [];
  const carries = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  const uploadFile = async (file, upload) => {
    const transfer = crypto.getRandomValues(new Uint32Array(4)).join("-"), count = Math.ceil(file.size / PART);
    const message = (type, more) => window.__viserMutable?.sendMessage(
      { type, source_component_uuid: upload, transfer_uuid: transfer, ...more });
    message("FileTransferStartUpload",
      { filename: file.name, mime_type: file.type, part_count: count, size_bytes: file.size });
    for (let k = 0; k < count; k += 1) {
      const content = new Uint8Array(await file.slice(k * PART, (k + 1) * PART).arrayBuffer());
      message("FileTransferPart", { part_index: k, content });
    }
  };
  const where = (event) => {  // as fractions of the stage, or null beside it
    const canvas = window.__viserMutable?.canvas, box = canvas?.getBoundingClientRect();
    if (!box || !document.elementsFromPoint(event.clientX, event.clientY).includes(canvas)) return null;
    if (event.target.closest?.(".stage:not(#stage-drop), .mantine-Paper-root")) return null;
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  window.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();  // else the browser would leave the studio for the file
    event.dataTransfer.dropEffect = "copy";
    drop.hidden = false;
    dismissHint();
  });
  window.addEventListener("dragleave", (event) => { if (event.relatedTarget === null) drop.hidden = true; });
  window.addEventListener("drop", (event) => {
    drop.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    dropped = [...event.dataTransfer.files];
    if (dropped.length) send("drop", where(event));
  });

  // Sheets: the help, the messages, the choice of a video.
  const close = () => { sheet.hidden = true; sheet.replaceChildren(); };
  const open = (title, ...content) => {
    sheet.replaceChildren(make("div", {}, make("h2", {}, title, button("Close", close, { text: "✕" })), ...content));
    sheet.setAttribute("aria-label", title);
    sheet.hidden = false;
  };
  const openHelp = () => {
    if (!sheet.hidden) return close();
    const groups = [...new Set(state.keys.map((key) => key.group))];
    const columns = groups.map((group) => make("section", {}, make("h3", {}, group), make("dl", {},
      ...state.keys.filter((key) => key.group === group).flatMap((key) =>
        [make("dt", {}, make("kbd", {}, key.shown)), make("dd", {}, key.label)]))));
    const mouse = [["Drag", "orbit"], ["Right-drag, Shift-drag", "pan"], ["Wheel", "nearer, farther"],
      ["Wheel on the timeline", "zoom there"], ["Shift-wheel there", "earlier, later"], ["Double-click there", "all of it"]];
    columns.push(make("section", {}, make("h3", {}, "Mouse"), make("dl", {},
      ...mouse.flatMap(([what, does]) => [make("dt", {}, what), make("dd", {}, does)]))));
    open("Keys", make("div", { class: "columns" }, ...columns));
  };
  const listed = () => state.messages.map((message) =>
    make("li", { class: message.kind }, make("time", {}, message.at), message.text)).reverse();
  const openMessages = () => open("Messages", make("ol", {}, ...(state.messages.length ? listed() : ["None yet."])));
  const size = () => { const c = window.__viserMutable?.canvas; return [c?.clientWidth ?? 0, c?.clientHeight ?? 0]; };
  const openVideo = () => open("Video of what the timeline shows",
    make("p", {}, "Every frame is drawn in this window and sent to the studio, which takes longer than playing."),
    ...(state.tools.videos ?? []).map(([suffix, label]) =>
      make("p", {}, button(label, () => { close(); send("video", [suffix, ...size(), ...span()]); }, { text: label }))));

  const dismissHint = () => {
    if (hint.hidden) return;
    hint.hidden = true;
    try { localStorage.setItem(SEEN, "1"); } catch { /* a browser that keeps nothing shows it again */ }
  };
  const kept = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const setDark = (on) => {
    try { localStorage.setItem(DARK, on ? "1" : ""); } catch { /* as above */ }
    send("dark", on);
  };

  const show = {
    clock(value) {
      Object.assign(state.clock, value, { received: performance.now() });
      if (view.to !== null && view.from >= state.clock.duration) { view.from = 0; view.to = null; }
      const label = state.clock.playing ? "Pause" : "Play";
      if (play.getAttribute("aria-label") !== label) {
        play.setAttribute("aria-label", label);
        play.title = label;
        play.replaceChildren(icon(label.toLowerCase()));
      }
      loop.textContent = state.clock.loop ? "Loop on" : "Loop off";
      loop.setAttribute("aria-label", loop.textContent);
      loop.title = loop.textContent;
      speed.textContent = `${+state.clock.speed.toFixed(2)}× speed`;
      lay();
    },
    lanes(value) { state.lanes = value; lay(); },
    keys(value) { state.keys = value; },
    messages(value) {
      state.messages = value;
      if (!sheet.hidden && sheet.getAttribute("aria-label") === "Messages") openMessages();
    },
    message(value) {
      notice.className = `notice ${value?.kind ?? ""}`;
      notice.replaceChildren(...(value ? [make("span", {}, value.text)] : []), icon("bell"));
    },
    tools(value) {
      state.tools = value;
      follow.setAttribute("aria-pressed", value.follow);
      dark.setAttribute("aria-pressed", value.dark);
      requestAnimationFrame(() => lay());  // in the other colours
    },
    progress(value) {
      progress.hidden = !value.length;
      progress.replaceChildren(...value.flatMap(({ text, fraction }) => {
        const bar = make("i"), known = fraction !== null;
        if (known) bar.style.width = `${100 * fraction}%`;
        return [make("div", {}, text), make("div", { class: known ? "bar" : "bar unknown" }, bar)];
      }));
    },
    take({ upload, largest }) {
      while (dropped.length && dropped[0].size > largest) send("too_large", dropped.shift().name);
      if (dropped.length) uploadFile(dropped.shift(), upload).catch((error) => console.error(error));
    },
    help() { openHelp(); },
    hint(sentences) {
      if (kept(SEEN)) return;
      hint.replaceChildren(...sentences.map((sentence) => make("p", {}, sentence)));
      hint.hidden = false;
    },
  };
  window.posableStage = { show: (topic, value) => show[topic](value) };

  const begin = () => {
    document.body.append(timeline, tools, progress, hint, drop, sheet);
    new ResizeObserver(() => lay()).observe(tracks);
    animate();
    const large = window.matchMedia(LARGE);
    large.addEventListener("change", () => send("large", large.matches));  // as when it is put on another screen
    const waiting = setInterval(() => {  // until the page is connected
      const canvas = window.__viserMutable?.canvas;
      if (state.tools.follow === undefined || !canvas) return;
      clearInterval(waiting);
      if (kept(DARK) === "1" && !state.tools.dark) send("dark", true);
      if (large.matches) send("large", true);
      new ResizeObserver(() => {  // what lies over the stage stays clear of the panel, in several lines if need be
        const width = canvas.getBoundingClientRect().width / (tools.currentCSSZoom ?? 1);
        document.documentElement.style.setProperty("--stage-width", `${width}px`);
      }).observe(canvas);
    }, 200);
  };
  document.addEventListener("DOMContentLoaded", begin);  // after viser's own elements
})();
