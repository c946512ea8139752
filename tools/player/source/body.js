// A body: its joints over time, by forward kinematics in double precision, and the meshes that follow them.

import {
  Bone, BufferAttribute, BufferGeometry, Color, DoubleSide, FrontSide, Group, Matrix4, Mesh, MeshPhongMaterial, Quaternion,
  Skeleton, SkinnedMesh, SRGBColorSpace, Vector3,
} from 'three';

const ROTATION = 1 / 32767; // int16 to the parts of a quaternion

export class Body {
  /** `inner`: a little thinner, so that where two bodies are alike one sees the first, and the second where it differs. */
  constructor(data, looks, inner) {
    this.name = data.name;
    this.names = data.joints;
    this.fps = data.fps;
    this.frames = data.frames;
    this.at = data.at;
    this.swatch = data.swatch;
    this.count = data.parents.length;
    this.data = data;
    this.positions = new Float64Array(3 * this.count);
    this.orientations = new Float64Array(4 * this.count); // wxyz
    this.bones = data.parents.map(() => {
      const bone = new Bone();
      bone.matrixAutoUpdate = bone.matrixWorldAutoUpdate = false;
      return bone;
    });
    this.group = new Group();
    this.meshes = looks[data.look].map((look) => skinned(look, this.bones, inner ? data.thin : 0));
    // A fading body first fills the depth buffer, so that one sees its surface and not what is inside.
    this.masks = this.meshes.map((mesh) => masked(mesh));
    this.group.add(...this.meshes, ...this.masks);
    this.group.position.set(...data.at);
  }

  get duration() {
    return Math.max(0, this.frames - 1) / this.fps;
  }

  /** Pose the joints at a time [s]: between two frames by normalised interpolation, beyond the ends as there. */
  pose(time) {
    const { data, count, positions, orientations } = this;
    const last = Math.max(0, this.frames - 1);
    let exact = Math.min(Math.max(time * this.fps, 0), last);
    if (Math.abs(exact - Math.round(exact)) < 1e-6) exact = Math.round(exact);
    const before = Math.min(Math.floor(exact), last);
    const after = Math.min(before + 1, last);
    const part = exact - before;
    const { rotations, translation, offsets, moving, parents } = data;
    for (let j = 0; j < count; j++) {
      const a = 4 * (before * count + j), b = 4 * (after * count + j);
      let w = mix(rotations[a], rotations[b], part) * ROTATION, x = mix(rotations[a + 1], rotations[b + 1], part) * ROTATION;
      let y = mix(rotations[a + 2], rotations[b + 2], part) * ROTATION, z = mix(rotations[a + 3], rotations[b + 3], part) * ROTATION;
      const size = Math.hypot(w, x, y, z) || 1;
      w /= size; x /= size; y /= size; z /= size;
      const parent = parents[j];
      if (parent < 0) {
        for (let k = 0; k < 3; k++) positions[3 * j + k] = mix(translation[3 * before + k], translation[3 * after + k], part);
        orientations.set([w, x, y, z], 4 * j);
      } else {
        const o = [0, 1, 2].map((k) => (moving
          ? mix(moving[3 * (before * count + j) + k], moving[3 * (after * count + j) + k], part) : offsets[3 * j + k]));
        const [pw, px, py, pz] = orientations.subarray(4 * parent, 4 * parent + 4);
        const tx = 2 * (py * o[2] - pz * o[1]), ty = 2 * (pz * o[0] - px * o[2]), tz = 2 * (px * o[1] - py * o[0]);
        positions[3 * j] = positions[3 * parent] + o[0] + pw * tx + py * tz - pz * ty;
        positions[3 * j + 1] = positions[3 * parent + 1] + o[1] + pw * ty + pz * tx - px * tz;
        positions[3 * j + 2] = positions[3 * parent + 2] + o[2] + pw * tz + px * ty - py * tx;
        orientations[4 * j] = pw * w - px * x - py * y - pz * z;
        orientations[4 * j + 1] = pw * x + px * w + py * z - pz * y;
        orientations[4 * j + 2] = pw * y - px * z + py * w + pz * x;
        orientations[4 * j + 3] = pw * z + px * y - py * x + pz * w;
      }
    }
    this.known = positions.every(Number.isFinite);
  }

  /** Send the joints to the meshes, and fade them: 0 is invisible. */
  draw(opacity) {
    const { positions, orientations } = this;
    this.group.visible = this.known && opacity > 0.01;
    if (!this.group.visible) return;
    this.group.updateMatrixWorld(true);
    const place = new Vector3(), turn = new Quaternion(), scale = new Vector3(1, 1, 1);
    this.bones.forEach((bone, j) => {
      const [w, x, y, z] = orientations.subarray(4 * j, 4 * j + 4);
      place.set(positions[3 * j] + this.at[0], positions[3 * j + 1] + this.at[1], positions[3 * j + 2] + this.at[2]);
      bone.matrixWorld.compose(place, turn.set(x, y, z, w), scale);
    });
    const solid = opacity > 0.99;
    for (const mesh of this.meshes) {
      mesh.material.transparent = !solid;
      mesh.material.opacity = opacity;
      mesh.castShadow = opacity > 0.3;
      mesh.skeleton.update();
    }
    for (const mask of this.masks) mask.visible = !solid;
  }
}

/** The smallest opacity-free mesh of an obstacle: it stays where it is. */
export function obstacle(data, colour) {
  const geometry = new BufferGeometry();
  geometry.setAttribute('position', new BufferAttribute(data.vertices, 3));
  geometry.setIndex(new BufferAttribute(data.faces, 1));
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  const mesh = new Mesh(flat, new MeshPhongMaterial({ color: colour, specular: 0x111111, side: DoubleSide }));
  mesh.castShadow = mesh.receiveShadow = true;
  return mesh;
}

function skinned(look, bones, thin) {
  const geometry = new BufferGeometry();
  const vertices = Float32Array.from(look.vertices, (value) => value * look.step);
  if (thin) for (let i = 0; i < vertices.length; i++) vertices[i] -= (thin * look.normals[i]) / 127;
  geometry.setAttribute('position', new BufferAttribute(vertices, 3));
  geometry.setAttribute('normal', new BufferAttribute(Float32Array.from(look.normals, (n) => n / 127), 3));
  const count = vertices.length / 3, width = look.joints.length / count;
  const joints = new Uint16Array(4 * count), weights = new Float32Array(4 * count);
  for (let v = 0; v < count; v++) {
    for (let k = 0; k < width; k++) {
      joints[4 * v + k] = look.joints[width * v + k];
      weights[4 * v + k] = look.weights ? look.weights[width * v + k] / 255 : 1;
    }
  }
  geometry.setAttribute('skinIndex', new BufferAttribute(joints, 4));
  geometry.setAttribute('skinWeight', new BufferAttribute(weights, 4));
  geometry.setAttribute('color', new BufferAttribute(linear(look, count), 3));
  geometry.setIndex(new BufferAttribute(look.faces, 1));
  const material = new MeshPhongMaterial({
    vertexColors: true, specular: 0x1c2226, shininess: 26, side: look.double ? DoubleSide : FrontSide,
  });
  const mesh = new SkinnedMesh(geometry, material);
  mesh.castShadow = mesh.receiveShadow = true;
  mesh.frustumCulled = false;
  const inverses = bones.map((_, j) => {
    if (!look.bind) return new Matrix4();
    const [x, y, z, w, i, k, l] = look.bind.subarray(7 * j, 7 * j + 7);
    return new Matrix4().compose(new Vector3(x, y, z), new Quaternion(i, k, l, w), new Vector3(1, 1, 1)).invert();
  });
  mesh.bind(new Skeleton(bones, inverses), new Matrix4());
  return mesh;
}

function linear(look, count) {
  const palette = [];
  const colour = new Color();
  for (let k = 0; k < look.palette.length; k += 3) {
    colour.setRGB(...[...look.palette.subarray(k, k + 3)].map((c) => c / 255), SRGBColorSpace);
    palette.push(colour.toArray());
  }
  const colours = new Float32Array(3 * count);
  for (let v = 0; v < count; v++) colours.set(palette[look.colours[v]], 3 * v);
  return colours;
}

function masked(mesh) {
  const material = new MeshPhongMaterial({ colorWrite: false, side: mesh.material.side });
  const mask = new SkinnedMesh(mesh.geometry, material);
  mask.bind(mesh.skeleton, new Matrix4());
  mask.frustumCulled = false;
  mask.visible = false;
  mask.renderOrder = -1;
  return mask;
}

function mix(a, b, part) {
  return part ? a + (b - a) * part : a;
}
