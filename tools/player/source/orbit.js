// The pointer on the stage: one finger or the left button orbits, two fingers, Ctrl and the wheel zoom, Shift pans.

import { Vector3 } from 'three';

export function orbit(canvas, stage, redraw) {
  const down = new Map();
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  canvas.addEventListener('pointerdown', (event) => {
    down.set(event.pointerId, event);
    canvas.setPointerCapture(event.pointerId);
  });
  for (const kind of ['pointerup', 'pointercancel']) canvas.addEventListener(kind, (event) => down.delete(event.pointerId));
  canvas.addEventListener('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (!before) return;
    const across = event.clientX - before.clientX, along = event.clientY - before.clientY;
    if (down.size === 2) {
      const [other] = [...down.values()].filter((one) => one.pointerId !== event.pointerId);
      const gap = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) || 1;
      stage.zoom = clamp((stage.zoom * gap(before)) / gap(event), 0.15, 6);
    } else if (event.shiftKey || before.button === 2) {
      const unit = (stage.zoom * stage.tall) / canvas.clientHeight;
      const right = new Vector3().setFromMatrixColumn(stage.camera.matrixWorld, 0);
      const up = new Vector3().setFromMatrixColumn(stage.camera.matrixWorld, 1);
      stage.pan.addScaledVector(right, -across * unit).addScaledVector(up, along * unit);
    } else {
      stage.azimuth -= across * 0.009;
      stage.elevation = clamp(stage.elevation + along * 0.007, -0.12, 1.5);
    }
    down.set(event.pointerId, Object.assign(event, { }));
    redraw();
  });
  canvas.addEventListener('contextmenu', (event) => event.preventDefault());
  canvas.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !stage.wheel) return; // the page scrolls
    event.preventDefault();
    stage.zoom = clamp(stage.zoom * Math.exp(event.deltaY * 0.0012), 0.15, 6);
    redraw();
  }, { passive: false });
}
