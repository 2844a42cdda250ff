/** Our reading of memorybench's provider, as far as one without prompts needs it. */
import type { UnifiedSession } from "./unified";

export interface ProviderConfig {
  apiKey: string;
  baseUrl?: string;
}

export interface IngestOptions {
  containerTag: string;
}

export interface SearchOptions {
  containerTag: string;
  limit?: number;
  threshold?: number;
}

export interface IngestResult {
  documentIds: string[];
}

export type IndexingProgressCallback = (progress: { completedIds: string[]; failedIds: string[]; total: number }) => void;

export interface Provider {
  name: string;
  concurrency?: { default: number };
  initialize(config: ProviderConfig): Promise<void>;
  ingest(sessions: UnifiedSession[], options: IngestOptions): Promise<IngestResult>;
  awaitIndexing(result: IngestResult, containerTag: string, onProgress?: IndexingProgressCallback): Promise<void>;
  search(query: string, options: SearchOptions): Promise<unknown[]>;
  clear(containerTag: string): Promise<void>;
}
