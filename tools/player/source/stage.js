// The stage: light, floor and camera of one player, and the one WebGL context that draws all players of a page.

import {
  Color, DirectionalLight, Group, HemisphereLight, InstancedMesh, Matrix4, Mesh, MeshPhongMaterial, PCFShadowMap,
  PerspectiveCamera, PlaneGeometry, Scene, ShaderMaterial, ShadowMaterial, SphereGeometry, Vector3, WebGLRenderer,
} from 'three';
import { Body, obstacle } from './body.js';

let shared = null; // browsers allow some sixteen contexts a page

function renderer() {
  if (!shared) {
    shared = new WebGLRenderer({ antialias: true, alpha: true });
    shared.shadowMap.enabled = true;
    shared.shadowMap.type = PCFShadowMap;
    shared.setClearColor(0x000000, 0);
  }
  return shared;
}

export class Stage {
  constructor(data) {
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(26, 1, 0.05, 200);
    this.level = data.floor;
    this.bodies = data.bodies.map((body, k) => new Body(body, data.looks, data.compare && k === 1));
    this.scene.add(...this.bodies.map((body) => body.group));
    this.obstacles = data.obstacles.map((one) => obstacle(one, 0xb9a48c));
    if (this.obstacles.length) this.scene.add(...this.obstacles);
    this.points = data.points ? new Points(data.points) : null;
    if (this.points) this.scene.add(this.points.mesh);
    this._measure();
    this._light();
    this._floor();
    const [azimuth, elevation] = data.view;
    this.home = { azimuth, elevation };
    this.frameAll();
  }

  get duration() {
    return Math.max(...this.bodies.map((body) => body.duration), this.points ? this.points.duration : 0);
  }

  /** Back to where the whole body is seen. */
  frameAll() {
    Object.assign(this, { azimuth: this.home.azimuth, elevation: this.home.elevation, zoom: 1, pan: new Vector3() });
  }

  pose(time, opacities) {
    this.bodies.forEach((body, k) => { body.pose(time); body.draw(opacities[k]); });
    if (this.points) this.points.pose(time);
    this.time = time;
  }

  dark(on) {
    this.grid.material.uniforms.line.value.set(on ? 0x8ea0ad : 0x7f8f9c);
    this.grid.material.uniforms.ground.value.set(on ? 0x3b444b : 0xf3f5f6);
    this.shadow.material.opacity = on ? 0.6 : 0.3;
    this.sky.intensity = on ? 1.5 : 1.9;
    this.sky.color.set(on ? 0xdbe6f0 : 0xf6f9fc);
    this.sky.groundColor.set(on ? 0x3a3f46 : 0xa39a90);
  }

  /** Draw into a two-dimensional canvas of width by height pixels, with the body above the lowest `inset` of them. */
  draw(canvas, width, height, inset) {
    this._place(width, height, inset);
    const gl = renderer(), sheet = gl.domElement;
    if (sheet.width < width || sheet.height < height) gl.setSize(Math.max(sheet.width, width), Math.max(sheet.height, height), false);
    gl.setViewport(0, 0, width, height);
    gl.setScissor(0, 0, width, height);
    gl.setScissorTest(true);
    gl.render(this.scene, this.camera);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, width, height);
    context.drawImage(sheet, 0, sheet.height - height, width, height, 0, 0, width, height);
  }

  /** Where the body is on the floor, smoothed over a second and a half, so that the camera follows calmly. */
  focus(time) {
    const { path, rate } = this;
    const exact = Math.min(Math.max(time * rate, 0), path.length - 1);
    const before = Math.floor(exact), after = Math.min(before + 1, path.length - 1);
    return new Vector3().lerpVectors(path[before], path[after], exact - before);
  }

  _measure() {
    const count = Math.min(240, Math.max(1, Math.ceil(this.duration * 15) + 1));
    this.rate = this.duration ? (count - 1) / this.duration : 1;
    const roots = [];
    let low = Infinity, high = -Infinity;
    const seen = [];
    for (let i = 0; i < count; i++) {
      const corners = [];
      for (const body of this.bodies) {
        body.pose(i / this.rate);
        if (!body.known) continue;
        for (let j = 0; j < body.count; j++) corners.push(new Vector3(...body.positions.subarray(3 * j, 3 * j + 3)).add(new Vector3(...body.at)));
      }
      if (this.points) corners.push(...this.points.at(i / this.rate));
      seen.push(corners);
      const middle = new Vector3();
      for (const corner of corners) middle.addScaledVector(corner, 1 / corners.length);
      roots.push(corners.length ? middle : roots[i - 1] ?? new Vector3());
    }
    const half = Math.round(0.75 * this.rate);
    this.path = roots.map((_, i) => {
      const near = roots.slice(Math.max(0, i - half), i + half + 1);
      const mean = new Vector3();
      for (const one of near) mean.addScaledVector(one, 1 / near.length);
      return mean.setY(0);
    });
    const room = new Vector3();
    seen.forEach((corners, i) => {
      for (const corner of corners) {
        low = Math.min(low, corner.y);
        high = Math.max(high, corner.y);
        room.x = Math.max(room.x, Math.abs(corner.x - this.path[i].x));
        room.z = Math.max(room.z, Math.abs(corner.z - this.path[i].z));
      }
    });
    if (!(high >= low)) { low = 0; high = 1.7; }
    const [down, up, out] = [0, 1, 2].map((k) => Math.max(...this.bodies.map((body) => body.data.margin[k])));
    low = Math.min(low - down, this.level);
    high += up;
    this.tall = Math.max(1.06 * (high - low), 0.1);
    this.middle = (low + high) / 2;
    this.half = room.addScalar(out + 0.02 * this.tall).setY(this.tall / 2);
  }

  _light() {
    const size = this.size = Math.max(this.tall, 0.8 * this.half.x, 0.8 * this.half.z);
    this.sky = new HemisphereLight(0xffffff, 0xffffff, 1.5);
    this.key = new DirectionalLight(0xfff3e6, 2.1);
    this.rim = new DirectionalLight(0xcfe2f5, 1.4);
    this.target = new Group();
    const { shadow } = this.key;
    this.key.castShadow = true;
    shadow.mapSize.set(1024, 1024);
    const reach = 1.6 * size;
    Object.assign(shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 0.1 * size, far: 8 * size });
    shadow.radius = 5;
    shadow.bias = -0.0004;
    shadow.normalBias = 0.012 * size;
    this.key.target = this.rim.target = this.target;
    this.scene.add(this.sky, this.key, this.rim, this.target);
  }

  _floor() {
    const span = 14 * this.size;
    this.shadow = new Mesh(new PlaneGeometry(span, span), new ShadowMaterial({ color: 0x10181f }));
    this.shadow.receiveShadow = true;
    const cell = 10 ** Math.round(Math.log10(this.size / 3)); // a metre for a person
    this.grid = new Mesh(new PlaneGeometry(span, span), new ShaderMaterial({
      uniforms: {
        line: { value: new Color() }, ground: { value: new Color() }, cell: { value: Math.max(cell, 0.001) }, reach: { value: 0.42 * span },
        centre: { value: new Vector3() },
      },
      transparent: true,
      depthWrite: false,
      vertexShader: 'varying vec3 at; void main() { vec4 world = modelMatrix * vec4(position, 1.0); at = world.xyz; '
        + 'gl_Position = projectionMatrix * viewMatrix * world; }',
      fragmentShader: `
        uniform vec3 line, ground, centre; uniform float cell, reach; varying vec3 at;
        float ruled(float size) {
          vec2 p = at.xz / size, width = fwidth(p);
          vec2 near = abs(fract(p - 0.5) - 0.5) / max(width, 1e-6);
          return (1.0 - min(min(near.x, near.y) / 1.2, 1.0)) * (1.0 - smoothstep(0.15, 0.6, max(width.x, width.y)));
        }
        void main() {
          float away = distance(at.xz, centre.xz) / reach, fade = pow(1.0 - min(away, 1.0), 1.7);
          float lines = max(0.5 * ruled(cell), 0.22 * ruled(cell / 2.0));
          float alpha = fade * mix(0.62, 1.0, lines);
          gl_FragColor = vec4(mix(ground, line, lines), alpha);
          #include <colorspace_fragment>
        }`,
    }));
    for (const [k, plane] of [this.grid, this.shadow].entries()) {
      plane.rotation.x = -Math.PI / 2;
      plane.renderOrder = k - 10;
      this.scene.add(plane);
    }
  }

  _place(width, height, inset) {
    const focus = this.focus(this.time ?? 0), { camera, size } = this;
    for (const plane of [this.grid, this.shadow]) plane.position.set(focus.x, this.level, focus.z);
    this.grid.material.uniforms.centre.value.copy(focus);
    this.target.position.set(focus.x, this.middle, focus.z);
    this.key.position.set(focus.x - 1.5 * size, this.middle + 3.4 * size, focus.z + 2.1 * size);
    this.rim.position.set(focus.x + 1.6 * size, this.middle + 1.2 * size, focus.z - 2.2 * size);
    const distance = this.zoom * this._distance(width, height, inset);
    const aim = new Vector3(focus.x, this.middle, focus.z).add(this.pan);
    camera.setViewOffset(width, height, 0, inset / 2, width, height);
    const flat = Math.cos(this.elevation);
    camera.position.set(Math.sin(this.azimuth) * flat, Math.sin(this.elevation), Math.cos(this.azimuth) * flat);
    camera.position.multiplyScalar(distance).add(aim);
    camera.position.y = Math.max(camera.position.y, this.level + 0.02 * size);
    Object.assign(camera, { aspect: width / height, near: distance / 60, far: 12 * distance + 20 * size });
    camera.lookAt(aim);
    camera.updateProjectionMatrix();
  }

  /** How far away all of the body is seen, from where one looks at first: the same while one orbits. */
  _distance(width, height, inset) {
    const { azimuth, elevation } = this.home, { half } = this;
    const up = Math.tan((this.camera.fov * Math.PI) / 360), free = Math.max((height - inset) / height, 0.4);
    const right = [Math.cos(azimuth), 0, -Math.sin(azimuth)];
    const back = [Math.sin(azimuth) * Math.cos(elevation), Math.sin(elevation), Math.cos(azimuth) * Math.cos(elevation)];
    const above = [-Math.sin(azimuth) * Math.sin(elevation), Math.cos(elevation), -Math.cos(azimuth) * Math.sin(elevation)];
    let distance = 0;
    for (let k = 0; k < 8; k++) {
      const corner = [k & 1 ? half.x : -half.x, k & 2 ? half.y : -half.y, k & 4 ? half.z : -half.z];
      const along = (axis) => axis[0] * corner[0] + axis[1] * corner[1] + axis[2] * corner[2];
      const across = Math.abs(along(right)) / (up * width / height), over = Math.abs(along(above)) / (up * free);
      distance = Math.max(distance, along(back) + Math.max(across, over));
    }
    return 0.93 * distance; // the corners of a box around a body are empty
  }
}

/** Points over time, as balls; one that is not there (NaN) is not drawn. */
class Points {
  constructor({ positions, count, frames, fps, size }) {
    Object.assign(this, { positions, count, frames, fps });
    const material = new MeshPhongMaterial({ color: 0xe0663c, emissive: 0x6a2610, specular: 0x333333, depthTest: false, transparent: true });
    this.mesh = new InstancedMesh(new SphereGeometry(size, 20, 14), material, count);
    this.mesh.frustumCulled = false;
    this.mesh.renderOrder = 20; // seen through the body: they often lie inside it
  }

  get duration() {
    return Math.max(0, this.frames - 1) / this.fps;
  }

  at(time) {
    const frame = Math.min(Math.max(Math.round(time * this.fps), 0), this.frames - 1);
    const all = [];
    for (let i = 0; i < this.count; i++) {
      const k = 3 * (frame * this.count + i);
      const point = new Vector3(...this.positions.subarray(k, k + 3));
      if (Number.isFinite(point.x + point.y + point.z)) all.push(point);
    }
    return all;
  }

  pose(time) {
    const shown = this.at(time);
    shown.forEach((point, i) => this.mesh.setMatrixAt(i, new Matrix4().setPosition(point)));
    this.mesh.count = shown.length;
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}
