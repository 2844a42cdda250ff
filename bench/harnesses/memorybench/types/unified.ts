/** Our reading of memorybench's types, as far as a provider needs them. */
export interface UnifiedMessage {
  role: "user" | "assistant";
  content: string;
  timestamp?: string;
  speaker?: string;
}

export interface UnifiedSession {
  sessionId: string;
  messages: UnifiedMessage[];
  metadata?: Record<string, unknown>;
}
