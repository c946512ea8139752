// What a page brings: zlib of a header in JSON and of the arrays that it names (posable/render/player/packing.py).

const TYPES = { f4: Float32Array, i2: Int16Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, u1: Uint8Array };

/** Unpack base64 text into the header, with every {array} in it replaced by a typed array. */
export async function unpack(text) {
  const compressed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream('deflate'));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return filled(header, buffer.slice(4 + length));
}

function filled(value, bytes) {
  if (Array.isArray(value)) return value.map((one) => filled(one, bytes));
  if (value === null || typeof value !== 'object') return value;
  if (value.array) {
    const [type, start, count, columns] = value.array;
    const size = TYPES[type].BYTES_PER_ELEMENT;
    const whole = new TYPES[type](bytes.slice(start, start + count * size));
    return columns ? summed(whole, columns) : whole;
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, bytes)]));
}

/** Rows that were stored as differences to the row before; the type wraps around, as NumPy's does. */
function summed(values, columns) {
  for (let i = columns; i < values.length; i++) values[i] += values[i - columns];
  return values;
}
