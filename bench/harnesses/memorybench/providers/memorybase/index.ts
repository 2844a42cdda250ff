/**
 * memorybase as a provider of memorybench: copy to src/providers/memorybase/index.ts.
 *
 * A container is an end user of one flow, whose id is part of the end user's: to erase an end user is to erase them in
 * all flows. The harness's threshold is for cosines, and not used: each result has its score.
 */
import { Client, errors } from "memorybase-client";
import type {
  IndexingProgressCallback,
  IngestOptions,
  IngestResult,
  Provider,
  ProviderConfig,
  SearchOptions,
} from "../../types/provider";
import type { UnifiedMessage, UnifiedSession } from "../../types/unified";

const FLOW = "memorybench";
const MOST_IN_A_RUN = 500;
const INGESTION_SECONDS = 3600;

export class MemorybaseProvider implements Provider {
  name = "memorybase";
  concurrency = { default: 4 };
  private client!: Client;
  private memoryBaseId!: string;

  async initialize({ apiKey, baseUrl }: ProviderConfig): Promise<void> {
    this.client = new Client({ key: apiKey, ...(baseUrl ? { url: baseUrl } : {}) });
    await this.client.putFlow(FLOW, { name: FLOW });
    this.memoryBaseId = await this.memoryBase();
  }

  async ingest(sessions: UnifiedSession[], { containerTag }: IngestOptions): Promise<IngestResult> {
    for (const { sessionId, messages, metadata } of sessions) {
      const id = `${containerTag}/${sessionId}`;
      const began = typeof metadata?.["date"] === "string" ? Date.parse(metadata["date"]) : NaN;
      const said = messages.map((message, index) => asCaptured(message, `${id}#${index}`, began + 1000 * index));
      const kept = said.filter(({ content }) => content.trim() !== "");
      for (let start = 0; start < kept.length; start += MOST_IN_A_RUN) {
        await this.client.captureRun(FLOW, {
          session_id: id,
          run_id: `${id}#${start}`,
          end_user_id: endUser(containerTag),
          messages: kept.slice(start, start + MOST_IN_A_RUN),
          on_conflict: "keep",
        });
      }
    }
    return { documentIds: sessions.map(({ sessionId }) => sessionId) };
  }

  async awaitIndexing(
    { documentIds }: IngestResult,
    _containerTag: string,
    onProgress?: IndexingProgressCallback,
  ): Promise<void> {
    await this.client.waitUntilSearchable(this.memoryBaseId, {}, { timeoutSeconds: INGESTION_SECONDS });
    onProgress?.({ completedIds: documentIds, failedIds: [], total: documentIds.length });
  }

  async search(query: string, { containerTag, limit = 10 }: SearchOptions): Promise<unknown[]> {
    const { results } = await this.client.searchMemoryBase(this.memoryBaseId, {
      query,
      top_k: limit,
      end_user_id: endUser(containerTag),
    });
    return results.map((hit) => ({
      content: hit.content,
      speaker: hit.sender_name ?? hit.role,
      timestamp: hit.timestamp,
      score: hit.score,
      sessionId: hit.session_id.slice(containerTag.length + 1),
    }));
  }

  async clear(containerTag: string): Promise<void> {
    try {
      await this.client.eraseEndUser(endUser(containerTag));
    } catch (error) {
      if (!(error instanceof errors.NotFound)) {
        throw error;
      }
    }
  }

  private async memoryBase(): Promise<string> {
    try {
      const fields = { name: FLOW, flow_id: FLOW, capture: "all", threshold: 10_000 } as const;
      return (await this.client.createMemoryBase(fields)).id;
    } catch (error) {
      const existing = error instanceof errors.Conflict ? error.details["existing_id"] : undefined;
      if (typeof existing !== "string") {
        throw error;
      }
      return existing;
    }
  }
}

function endUser(containerTag: string): string {
  return `${FLOW}/${containerTag}`;
}

function asCaptured({ role, content, speaker, timestamp }: UnifiedMessage, id: string, at: number) {
  const when = timestamp ?? (Number.isNaN(at) ? undefined : new Date(at).toISOString());
  return { id, role, content, ...(speaker ? { sender_name: speaker } : {}), ...(when ? { timestamp: when } : {}) };
}

export default MemorybaseProvider;
