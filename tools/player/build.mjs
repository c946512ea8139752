// Bundles the player with three.js into src/posable/assets/player.min.js:
//
//     cd tools/player && npm ci && node build.mjs
//
// Only what the player draws with is kept: parts of three.js that it never reaches (virtual reality, physical materials,
// environment maps) are replaced by empty ones, and shaders lose their comments. That is a third of the size.

import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, '..', '..', 'src', 'posable', 'assets', 'player.min.js');
const three = JSON.parse(readFileSync(join(here, 'node_modules', 'three', 'package.json'), 'utf8'));

// Materials that the player does not have, and the parts of the shaders that only they use.
const materials = /ShaderLib\/(background|backgroundCube|cube|depth|distance|equirect|linedashed|meshbasic|meshlambert|meshmatcap|meshnormal|meshphysical|meshtoon|points|sprite)(RGBA)?\.glsl\.js$/;
const chunks = /ShaderChunk\/(bumpmap_pars|clearcoat_\w+|cube_uv_reflection|displacementmap_\w+|envmap_\w+|gradientmap_pars|iridescence_\w+|lightmap_\w+|lightprobes_\w+|lights_lambert_\w+|lights_physical_\w+|lights_toon_\w+|ltc_\w+|morph\w+|transmission_\w+|metalnessmap_\w+|roughnessmap_\w+)(_fragment|_vertex)?\.glsl\.js$/;
const kept = /ShaderLib\/depth\.glsl\.js$/; // the shadow map is drawn with it

const empty = {
  'renderers/webxr/WebXRManager.js': `import { EventDispatcher } from '../../core/EventDispatcher.js';
    export class WebXRManager extends EventDispatcher {
      constructor() { super(); this.enabled = this.isPresenting = this.cameraAutoUpdate = false; }
      setAnimationLoop() {} dispose() {} getDepthSensingMesh() { return null; } hasDepthSensing() { return false; }
      getEnvironmentBlendMode() {} updateCamera() {} getCamera() {} getFoveation() {} setUserCamera() {}
    }`,
  'extras/PMREMGenerator.js': 'export class PMREMGenerator { dispose() {} }',
  'renderers/shaders/DFGLUTData.js': 'export function getDFGLUT() { return null; }',
};

const lean = {
  name: 'lean',
  setup(builder) {
    builder.onLoad({ filter: /three\/src\/.*\.js$/ }, ({ path }) => {
      const name = path.replaceAll('\\', '/').split('three/src/')[1];
      if (empty[name]) return { contents: empty[name], loader: 'js' };
      const text = readFileSync(path, 'utf8');
      if (!name.endsWith('.glsl.js')) return { contents: text, loader: 'js' };
      const unused = chunks.test(name) || (materials.test(name) && !kept.test(name));
      const shader = unused ? text.replace(/`[^`]*`/g, '``') : text;
      return { contents: shader.replace(/`([^`]*)`/g, (_, glsl) => '`' + plainShader(glsl) + '`'), loader: 'js' };
    });
  },
};

function plainShader(glsl) {
  const bare = glsl.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/[^\n]*/g, '');
  const lines = bare.split('\n').map((line) => line.trim().replace(/\s+/g, ' ').replace(/ ?([=*\/,;(){}<>?&|]) ?/g,
    (match, sign) => (line.trim().startsWith('#') ? match : sign)));
  return '\n' + lines.filter((line) => line).join('\n') + '\n';
}

const sources = readdirSync(join(here, 'source')).sort().map((name) => join(here, 'source', name));
const digest = createHash('sha256');
for (const path of [...sources, join(here, 'build.mjs')]) digest.update(readFileSync(path, 'utf8').replaceAll('\r\n', '\n'));

const result = await build({
  entryPoints: [join(here, 'source', 'player.js')],
  bundle: true,
  minify: true,
  format: 'iife',
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  loader: { '.css': 'text' },
  alias: { three: join(here, 'node_modules', 'three', 'src', 'Three.js') },
  plugins: [lean],
  metafile: process.argv.includes('--parts'),
  write: false,
});
const banner = `/* Posable's player, made by tools/player/build.mjs of sources ${digest.digest('hex').slice(0, 16)}, with three.js ` +
  `${three.version} (MIT, Copyright 2010-2026 three.js authors; THREE-LICENSE beside this file) */\n`;
writeFileSync(target, banner + result.outputFiles[0].text);
console.log(`${target}: ${Math.round((banner.length + result.outputFiles[0].contents.length) / 1000)} kB, three.js ${three.version}`);
if (result.metafile) {
  const parts = Object.entries(Object.values(result.metafile.outputs)[0].inputs);
  parts.sort((a, b) => b[1].bytesInOutput - a[1].bytesInOutput);
  for (const [name, { bytesInOutput }] of parts.slice(0, 40)) console.log(bytesInOutput, name);
}
