/** Paths and files of the memory tool, and how the model sees them. */
import type { Schemas } from "../types.js";

export const ROOT = "/memories";
const LISTED_LEVELS = 2;

export interface MemoryFile {
  id: string;
  externalId: string | null | undefined;
  path: string;
  text: string;
  version: number;
  metadata: Schemas["MessageView"]["metadata"];
}

/** The path without a slash at its end. Throws if it is not below /memories. */
export function pathOf(path: string): string {
  const [first, ...names] = path.split("/").filter((name) => name !== "" && name !== ".");
  if (!path.startsWith("/") || `/${first}` !== ROOT) {
    throw new Error(`Path must start with ${ROOT}, got: ${path}`);
  }
  if (names.includes("..")) {
    throw new Error(`Path ${path} would escape ${ROOT} directory`);
  }
  if (/[\p{C}\p{Zl}\p{Zp}]/u.test(path)) {
    throw new Error(`Path must have no control characters, got: ${JSON.stringify(path)}`);
  }
  return [ROOT, ...names].join("/");
}

export function at(files: MemoryFile[], path: string): MemoryFile | undefined {
  return files.find((file) => file.path === path);
}

export function within(files: MemoryFile[], path: string): MemoryFile[] {
  return files.filter((file) => file.path === path || file.path.startsWith(`${path}/`));
}

/** Throws if something is at the path, or if a file, or what is moved, would have to be a directory. */
export function checkFree(files: MemoryFile[], path: string, taken: string, moved?: string): void {
  if (path === ROOT || within(files, path).length > 0) {
    throw new Error(taken);
  }
  const above = [...files.map((file) => file.path), ...(moved === undefined ? [] : [moved])];
  const parent = above.find((each) => path.startsWith(`${each}/`));
  if (parent !== undefined) {
    throw new Error(`The path ${parent} is not a directory that ${path} can be in`);
  }
}

/** Throws if the file does not have the text once. */
export function checkUnique({ path, text }: MemoryFile, old: string): void {
  const failed = "No replacement was performed";
  if (old === "") {
    throw new Error(`${failed}, old_str must not be empty.`);
  }
  const found = text.split(old).length - 1;
  if (found === 0) {
    throw new Error(`${failed}, old_str \`${old}\` did not appear verbatim in ${path}.`);
  }
  if (found > 1) {
    const lines: number[] = [];
    for (let start = text.indexOf(old); start !== -1; start = text.indexOf(old, start + 1)) {
      lines.push(text.slice(0, start).split("\n").length);
    }
    const where = `Multiple occurrences of old_str \`${old}\` in lines: ${lines.join(", ")}`;
    throw new Error(`${failed}. ${where}. Please ensure it is unique`);
  }
}

export function numbered(lines: string[], first: number): string {
  return lines.map((line, index) => `${String(first + index).padStart(6)}\t${line}`).join("\n");
}

/** A line for the directory and for each file and directory below: its size and path. */
export function listed(files: MemoryFile[], path: string): string {
  const sizes = new Map([[path, 0]]);
  for (const file of new Map(files.toReversed().map((each) => [each.path, each])).values()) {
    const names = file.path.slice(path.length + 1).split("/");
    if (names.some((name) => name.startsWith("."))) {
      continue;
    }
    for (let depth = 0; depth <= Math.min(names.length, LISTED_LEVELS); depth++) {
      const row = [path, ...names.slice(0, depth)].join("/") + (depth > 0 && depth < names.length ? "/" : "");
      sizes.set(row, (sizes.get(row) ?? 0) + new TextEncoder().encode(file.text).length);
    }
  }
  return [...sizes]
    .sort(([one], [other]) => compareNames(one.split("/"), other.split("/")))
    .map(([row, size]) => `${shownSize(size)}\t${row}`)
    .join("\n");
}

function compareNames(one: string[], other: string[]): number {
  const differing = one.findIndex((name, index) => name !== other[index]);
  const [left, right] = [one[differing], other[differing]];
  return left === undefined ? -1 : right === undefined ? 1 : left < right ? -1 : 1;
}

function shownSize(bytes: number): string {
  let [size, unit] = [bytes, "B"];
  for (const larger of "KMG") {
    if (size >= 1024) {
      [size, unit] = [size / 1024, larger];
    }
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${unit}`;
}
