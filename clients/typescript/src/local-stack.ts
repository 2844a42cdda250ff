/** The stack that `memorybase up` runs on this machine for this user, as it notes its address and key. */

export interface LocalStack {
  url: string;
  key: string;
}

type Runtime = {
  env?: Record<string, string | undefined>;
  platform?: string;
  geteuid?: () => number;
  getBuiltinModule?: (name: string) => unknown;
};

const PRIVATE = 0o077; // the bits of group and others

/** Undefined if there is none, where the runtime has no files, and if another user could have written the note. */
export function findLocalStack(): LocalStack | undefined {
  const process = runtime();
  const fs = process.getBuiltinModule?.("node:fs") as typeof import("node:fs") | undefined;
  const os = process.getBuiltinModule?.("node:os") as typeof import("node:os") | undefined;
  if (fs === undefined || os === undefined) {
    return undefined;
  }
  try {
    const file = `${stateDirectory(os.homedir())}/stack.json`;
    const status = fs.statSync(file);
    if (process.geteuid !== undefined && (status.uid !== process.geteuid() || (status.mode & PRIVATE) !== 0)) {
      return undefined;
    }
    const { url, key } = JSON.parse(fs.readFileSync(file, "utf8")) as Partial<LocalStack>;
    return url && key ? { url, key } : undefined;
  } catch {
    return undefined; // nothing runs here, or not for this user
  }
}

/** Browsers and some edge runtimes have no environment. */
export function environment(name: string): string | undefined {
  return runtime().env?.[name];
}

/** As memorybase itself and the Python client have it. */
function stateDirectory(home: string): string {
  const windows = runtime().platform === "win32" ? environment("LOCALAPPDATA") : undefined;
  return `${windows || environment("XDG_STATE_HOME") || `${home}/.local/state`}/memorybase`;
}

function runtime(): Runtime {
  return (globalThis as { process?: Runtime }).process ?? {};
}
