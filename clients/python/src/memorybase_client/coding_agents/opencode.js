// Memory of earlier sessions, from memorybase. `memorybase hooks install opencode` writes this file anew.
import { spawnSync } from "node:child_process";

const COMMAND = [];

export const Memorybase = async ({ client, directory }) => {
  const started = new Set();
  const compacted = new Set();

  // It waits, since opencode does not wait for what an event begins, and ends a run with it.
  function hook(name, session, fields) {
    const event = { hook_event_name: name, session_id: session, cwd: directory, ...fields };
    const [program, ...words] = COMMAND;
    const options = { input: JSON.stringify(event), encoding: "utf8", timeout: 5000, windowsHide: true };
    try {
      return spawnSync(program, words, options).stdout || "";
    } catch {
      return ""; // an error here would refuse the prompt
    }
  }

  async function parentOf(session) {
    const found = await client.session.get({ path: { id: session } }).catch(() => undefined);
    return found?.data?.parentID;
  }

  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID;
      if (event.type === "session.idle") hook("Stop", session);
      if (event.type === "session.compacted") compacted.add(session);
    },

    "chat.message": async ({ sessionID, model }, { message, parts }) => {
      const typed = parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored);
      if (!typed.length || (await parentOf(sessionID))) return; // of a subagent
      const fields = { prompt: typed.map((part) => part.text).join("\n\n"), model: model?.modelID };
      const recalled = [];
      if (!started.has(sessionID) || compacted.has(sessionID)) {
        const source = compacted.delete(sessionID) ? "compact" : "startup";
        recalled.push(hook("SessionStart", sessionID, { source }));
        started.add(sessionID);
      }
      recalled.push(hook("UserPromptSubmit", sessionID, fields));
      const text = recalled.filter(Boolean).join("\n\n");
      const { id } = parts.at(-1);
      // A part's id says its place: this one follows the last.
      if (text) parts.push({ id: `${id}m`, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },
  };
};
