// Loads a glTF file with three.js, plays one of its animations and prints, for each time, where every named node is
// in the world and where the skinned vertices are: { nodes: {name: [[x, y, z], ...]}, vertices: {name: [[...], ...]} }.
//
// usage: node sample.mjs file animation-index(-1: none) time,time,...
import { readFile } from "node:fs/promises";
import * as THREE from "three";
import { GLTFLoader } from "three/addons/loaders/GLTFLoader.js";

globalThis.self = globalThis; // the loader looks for a browser's global object
globalThis.ProgressEvent ??= class extends Event {}; // fetching a data: URI reports its progress
const [path, animation, times] = process.argv.slice(2);
const bytes = await readFile(path);
const loader = new GLTFLoader();
// There is no browser to decode pictures: every texture is a blank one.
loader.register((parser) => {
  parser.loadTexture = () => Promise.resolve(new THREE.Texture());
  return { name: "no_pictures" };
});
const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const gltf = await loader.parseAsync(buffer, "");
const mixer = new THREE.AnimationMixer(gltf.scene);
const action = Number(animation) >= 0 ? mixer.clipAction(gltf.animations[Number(animation)]) : null;
if (action) {
  action.setLoop(THREE.LoopOnce, 1);
  action.clampWhenFinished = true;
  action.play();
}

// three.js changes names that its animation tracks cannot hold; the file's own are looked up by node index.
const document = gltf.parser.json;
const answer = { animations: gltf.animations.map((clip) => clip.name), nodes: {}, vertices: {} };
for (const text of times.split(",")) {
  action?.reset(); // an action that has reached its end would stay there
  mixer.setTime(Number(text));
  gltf.scene.updateMatrixWorld(true);
  for (const [object, association] of gltf.parser.associations) {
    if (association?.nodes === undefined || !object.isObject3D) continue;
    const name = document.nodes[association.nodes].name ?? `node_${association.nodes}`;
    if (object.isSkinnedMesh || !object.isMesh) {
      const place = new THREE.Vector3().setFromMatrixPosition(object.matrixWorld);
      (answer.nodes[name] ??= []).push(place.toArray());
    }
  }
  gltf.scene.traverse((mesh) => {
    if (!mesh.isMesh) return;
    const point = new THREE.Vector3();
    const places = [];
    if (mesh.isSkinnedMesh) mesh.skeleton.update();
    for (let i = 0; i < mesh.geometry.attributes.position.count; i++) {
      mesh.getVertexPosition(i, point).applyMatrix4(mesh.matrixWorld);
      places.push(point.toArray());
    }
    (answer.vertices[mesh.name] ??= []).push(places);
  });
}
console.log(JSON.stringify(answer));
