// <posable-player>: a motion that plays. Its text is what posable/render/player packed; `posable.players` of the window
// lists the players of a page, and each has `ready`, `state`, `joints(body)`, `play()`, `pause()` and `seek(frame)`.

import { orbit } from './orbit.js';
import { Stage } from './stage.js';
import { unpack } from './data.js';
import style from './player.css';

const SHAPES = {
  play: 'M8 5.2v13.6c0 .8.9 1.3 1.6.8l10-6.8c.6-.4.6-1.2 0-1.6l-10-6.8C8.9 3.900 8 4.400 8 5.200z',
  pause: 'M7.500 5h2.600c.5 0 .9.4.9.9v12.200c0 .5-.4.9-.9.9H7.500a.9.9 0 0 1-.9-.9V5.900c0-.5.4-.9.9-.9zm6.400 0h2.600c.5 0 .9.4.9.9v12.200c0 .5-.4.9-.9.9h-2.600a.9.9 0 0 1-.9-.9V5.900c0-.5.4-.9.9-.9z',
  home: 'M4 4h6v2H6v4H4V4zm10 0h6v6h-2V6h-4V4zM4 14h2v4h4v2H4v-6zm14 0h2v6h-6v-2h4v-4z',
};
const SPEEDS = [1, 0.5, 0.25, 2];
const players = [];
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const night = matchMedia('(prefers-color-scheme: dark)');

class Player extends HTMLElement {
  connectedCallback() {
    if (this.started) return;
    this.started = true;
    this.ready = new Promise((resolve) => {
      // The text of the element may not have been read yet.
      if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => resolve(this._start()));
      else resolve(this._start());
    });
    players.push(this);
  }

  /** What the player shows now. */
  get state() {
    const { time, playing, compare, stage } = this;
    const bodies = stage.bodies.map((body, k) => ({ name: body.name, frames: body.frames, opacity: this._opacities()[k] }));
    return { time, frame: this._frame(), frames: this.frames, playing, compare, speed: this.speed, bodies };
  }

  /** World positions [m] of a body's joints now, as its motion has them: [[name, x, y, z], ...]. */
  joints(body = 0) {
    const { names, positions } = this.stage.bodies[body];
    return names.map((name, j) => [name, ...positions.subarray(3 * j, 3 * j + 3)]);
  }

  play() {
    if (this.frames < 2) return;
    if (this.time >= this.duration) this.time = 0;
    this.playing = true;
    this.last = null;
    this._show();
  }

  pause() {
    this.playing = false;
    this._show();
  }

  seek(frame) {
    this.time = Math.min(Math.max(frame / this.fps, 0), this.duration);
    this._show();
  }

  async _start() {
    const shadow = this.attachShadow({ mode: 'open' });
    const sheet = document.createElement('style');
    sheet.textContent = style;
    shadow.append(sheet);
    try {
      const data = await unpack(this.textContent);
      this.stage = new Stage(data);
      this.fps = data.bodies[0].fps;
      this.duration = this.stage.duration;
      this.frames = Math.round(this.duration * this.fps) + (data.empty ? 0 : 1);
      this.time = Math.min((data.start ?? 0) / this.fps, this.duration);
      this.speed = 1;
      this.compare = 0.5;
      this.playing = false;
      this._build(shadow, data);
      this._listen();
      this._theme();
      this._show();
      if (this.hasAttribute('autoplay') && !calm.matches) this.play();
    } catch (error) {
      const said = element('p', { class: 'problem', role: 'alert' });
      said.textContent = `This motion cannot be drawn here: ${error.message}`;
      shadow.append(said);
      this.problem = error.message;
    }
  }

  _build(shadow, data) {
    this.canvas = element('canvas', { 'aria-hidden': 'true' });
    this.title_ = element('div', { class: 'title' });
    this.title_.textContent = data.title;
    this.button = button('play', 'Play (space)');
    this.scrub = element('input', { type: 'range', class: 'scrub', min: 0, max: Math.max(this.frames - 1, 0), step: 1, 'aria-label': 'Frame' });
    this.clock = element('span', { class: 'clock' });
    this.count = element('span', { class: 'count' });
    this.pace = element('button', { class: 'pace', title: 'Speed', 'aria-label': 'Speed' });
    this.pace.textContent = '1×';
    this.home = button('home', 'See the whole body (F)');
    const bar = this.bar = element('div', { class: 'bar' });
    bar.append(this.button, this.scrub, this.clock, this.count, this.pace, this.home);
    shadow.append(this.canvas, this.title_, bar);
    if (this.frames < 2) {
      for (const one of [this.button, this.scrub, this.pace]) one.disabled = true;
      if (!this.frames) this.title_.textContent = `${data.title || 'Motion'}: no frames`;
    }
    if (data.bodies.length > 1) shadow.append(this._names(data));
    this.tabIndex = 0;
    this.setAttribute('role', 'group');
    this.setAttribute('aria-label', `Motion: ${data.title || 'unnamed'}`);
  }

  _names(data) {
    const row = this.row = element('div', { class: 'names' });
    const labels = data.bodies.map((body) => {
      const label = element('span', { class: 'name' });
      const dot = element('i', {});
      dot.style.background = body.swatch;
      const text = element('span', {});
      text.textContent = body.name;
      label.append(dot, text);
      return label;
    });
    if (data.compare) {
      this.slider = element('input', { type: 'range', min: 0, max: 100, step: 1, value: 50, class: 'compare', 'aria-label': 'Compare: which motion is seen' });
      this.slider.addEventListener('input', () => { this.compare = this.slider.value / 100; this._show(); });
      labels.splice(1, 0, this.slider);
    }
    row.append(...labels);
    return row;
  }

  _listen() {
    const redraw = () => this._show();
    this.button.addEventListener('click', () => this._toggle());
    this.scrub.addEventListener('input', () => { this.playing = false; this.seek(Number(this.scrub.value)); });
    this.pace.addEventListener('click', () => {
      this.speed = SPEEDS[(SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length];
      this.pace.textContent = `${{ 0.5: '½', 0.25: '¼' }[this.speed] ?? this.speed}×`;
    });
    this.home.addEventListener('click', () => { this.stage.frameAll(); redraw(); });
    this.canvas.addEventListener('dblclick', () => { this.stage.frameAll(); redraw(); });
    this.stage.wheel = this.hasAttribute('page'); // a page of its own has nothing else to scroll
    orbit(this.canvas, this.stage, redraw);
    const target = this.hasAttribute('page') ? document : this;
    target.addEventListener('keydown', (event) => this._key(event));
    new ResizeObserver(redraw).observe(this);
    new IntersectionObserver((entries) => { this.seen = entries.at(-1).isIntersecting; redraw(); }).observe(this);
    night.addEventListener('change', () => { this._theme(); redraw(); });
    new MutationObserver(() => { this._theme(); redraw(); }).observe(document.body, { attributeFilter: ['data-theme'] });
  }

  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const own = event.composedPath()[0];
    const step = event.shiftKey ? 10 : 1;
    if (event.key === ' ') { if (own.localName === 'button' && own !== this.button) return; this._toggle(); }
    else if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      if (own === this.slider) return;
      this.playing = false;
      this.seek(this._frame() + (event.key === 'ArrowLeft' ? -step : step));
    } else if (event.key === 'Home') this.seek(0);
    else if (event.key === 'End') this.seek(this.frames - 1);
    else if (event.key === 'f' || event.key === 'F') { this.stage.frameAll(); this._show(); }
    else return;
    event.preventDefault();
  }

  _toggle() {
    if (this.playing) this.pause(); else this.play();
  }

  _frame() {
    return Math.round(this.time * this.fps);
  }

  _opacities() {
    const { bodies } = this.stage;
    if (!this.slider) return bodies.map(() => 1);
    return [Math.min(1, 2 * (1 - this.compare)), Math.min(1, 2 * this.compare)];
  }

  _inset() {
    return this.bar.offsetHeight + (this.row ? this.row.offsetHeight + 10 : 0) + 10;
  }

  _theme() {
    const said = document.body?.dataset.theme; // the switch of the documentation's theme
    const dark = said === 'dark' || (said !== 'light' && night.matches);
    this.toggleAttribute('dark', dark);
    this.stage.dark(dark);
  }

  /** Ask for one picture at the next refresh of the screen, and for more while it plays. */
  _show() {
    if (this.asked || !this.stage) return;
    this.asked = true;
    requestAnimationFrame((now) => { this.asked = false; this._draw(now); });
  }

  _draw(now) {
    if (this.playing) {
      if (this.last !== null) this.time += (this.speed * Math.min(now - this.last, 100)) / 1000;
      this.last = now;
      if (this.time > this.duration) this.time = this.time - this.duration < 0.4 ? this.duration : 0;
      if (this.time >= this.duration) this.rest = (this.rest ?? now);
      if (this.rest && now - this.rest > 400) { this.time = 0; this.rest = null; }
    } else this.rest = null;
    const ratio = Math.min(devicePixelRatio, 2);
    const width = Math.round(this.clientWidth * ratio), height = Math.round(this.clientHeight * ratio);
    if (this.seen !== false && width && height) {
      this.stage.pose(this.time, this._opacities());
      this.stage.draw(this.canvas, width, height, this._inset() * ratio);
      this._tell();
    }
    if (this.playing && this.seen !== false && this.isConnected) this._show();
    else this.last = null;
  }

  _tell() {
    const frame = this._frame(), { scrub, button: shown } = this;
    if (Number(scrub.value) !== frame) scrub.value = frame;
    scrub.style.setProperty('--done', `${this.frames > 1 ? (100 * frame) / (this.frames - 1) : 0}%`);
    this.clock.textContent = `${this.time.toFixed(2)} s`;
    this.count.textContent = this.frames ? `${frame} / ${this.frames - 1}` : 'no frames';
    const kind = this.playing ? 'pause' : 'play';
    if (shown.dataset.kind !== kind) draw(shown, kind, this.playing ? 'Pause (space)' : 'Play (space)');
  }
}

function element(kind, attributes) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function button(kind, says) {
  const made = element('button', {});
  draw(made, kind, says);
  return made;
}

function draw(made, kind, says) {
  made.dataset.kind = kind;
  made.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${SHAPES[kind]}"/></svg>`;
  made.title = says;
  made.setAttribute('aria-label', says);
}

if (!customElements.get('posable-player')) {
  window.posable = Object.freeze({ players });
  customElements.define('posable-player', Player);
}
