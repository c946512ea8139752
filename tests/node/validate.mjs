// Runs the Khronos glTF validator over the files named on the command line; prints a JSON list, one report a file.
import { readFile } from "node:fs/promises";
import validator from "gltf-validator";

const reports = [];
for (const path of process.argv.slice(2)) {
  const bytes = new Uint8Array(await readFile(path));
  const report = await validator.validateBytes(bytes, { uri: path, maxIssues: 100 });
  reports.push({ path, ...report.issues });
}
console.log(JSON.stringify(reports));
