/** An answer as it came, or why there is none, and what is known of its request. */
export type Input = (Answer | NoAnswer) & {
  /** What is known of the request and of earlier ones of the same intent. */
  attempt?: Attempt;
  /** What is left. Absent members: 3 attempts, 300 seconds, 10 tokens. */
  budget?: Budget;
};

export interface Answer {
  binding: Binding;
  transport_error?: never;
  /** Id of the JSON-RPC request. Without it, the id of the answer is not compared. */
  request_id?: string | number;
  /** HTTP status; absent or 0 where there is none. */
  status?: number;
  /** Headers, and for gRPC trailers (`grpc-status-details-bin` in base64), by name in any case. */
  headers?: Record<string, string | string[]>;
  /** Body: a text as it came, or the JSON value that it is. Of an event stream, the data of the event. */
  body?: unknown;
}

export interface NoAnswer {
  binding?: never;
  transport_error: TransportError;
}

/**
 * `jsonrpc`: JSON-RPC 2.0 (A2A, AAP, AdCP over A2A, MCP with its envelope). `mcp_tool` and `task`: an MCP tool result and an
 * A2A task without their envelopes.
 */
export type Binding = "jsonrpc" | "http_json" | "grpc" | "mcp_tool" | "task" | "text";

/**
 * `unreachable`, `certificate`, `proxy`: nothing was sent. `unanswered`: sent, or maybe sent, and no answer. `truncated`: an
 * answer that does not end.
 */
export type TransportError = "unreachable" | "certificate" | "proxy" | "unanswered" | "truncated";

export interface Attempt {
  /** Effect of sending the request twice: none, that of sending it once, or it may happen twice. Absent: `read`. */
  effect?: "read" | "keyed" | "unkeyed";
  /** The request carried a credential. */
  had_credentials?: boolean;
  /** The caller can supply a credential, or renew the one it has. */
  has_supply?: boolean;
  /** The request carried a context id. */
  had_context?: boolean;
  /** The caller can read the card with the seller's address again. */
  has_card?: boolean;
  /** The seller's host. Addresses that a person is sent to must be there. */
  seller?: string;
  /** Remedies that were tried for this intent. */
  tried?: Tried;
}

export interface Tried {
  /** How often a request was sent again unchanged. */
  retries?: number;
  /** A credential was supplied or renewed. */
  credentials?: boolean;
  /** The context id was left out. */
  context?: boolean;
  /** The card was read again. */
  card?: boolean;
  /** A way of billing that the seller suggested was used. */
  billing?: boolean;
}

export interface Budget {
  /** Further requests of this intent. */
  attempts?: number;
  /** Further time of this intent, in seconds. */
  seconds?: number;
  /** Further retries of this seller, over all intents. */
  tokens?: number;
}

export type Output = { failure: Failure; advice: Advice } | { failure: null; advice: null };

export interface Failure {
  /** How far the request got. */
  kind: "unsent" | "unanswered" | "garbled" | "refused";
  /** What the refusal is written in; the most specific of all layers. */
  protocol?: "adcp" | "aap" | "a2a" | "grpc" | "http" | "text";
  /** Error code, as sent. Of a bare HTTP or gRPC status, its number. */
  code?: string;
  /** The code is in a published catalog. */
  is_known?: boolean;
  /** The same request, another request, or only a person (or another seller) can succeed. */
  class: "transient" | "correctable" | "terminal";
  /** The request may have had its effect. */
  in_doubt: boolean;
  /** Longest delay that any layer asks for. */
  retry_after_ms?: number;
  /** How the server wants its callers to authenticate. */
  challenges?: Challenge[];
  /** The failure in words, made safe to show. */
  message?: string;
}

export interface Challenge {
  scheme: string;
  realm?: string;
  scope?: string;
  resource_metadata?: string;
  error?: string;
  error_description?: string;
}

export type Advice = Retry | Fix | Ask | Stop;

/** Send at a random moment in this span, in milliseconds from now. */
export interface Wait {
  at_least: number;
  at_most: number;
}

/** Send the same request again, with the same idempotency key. */
export interface Retry {
  action: "retry";
  key: "same";
  /** Step before it. */
  first?: "supply_credential" | "renew_credential" | "read_card";
  wait_ms: Wait;
  text: string;
}

/** Send another request, with a fresh idempotency key. */
export interface Fix {
  action: "fix";
  key: "fresh";
  change: Change;
  /** What to use instead: of `billing` a text, of `versions` a list, of `account` an object as the seller wrote it. */
  value?: unknown;
  /** Fields at fault, in the seller's notation. For display only. */
  fields?: string[];
  /** The seller's suggestion, made safe to show. */
  suggestion?: string;
  wait_ms: Wait;
  text: string;
}

export type Change =
  | "request" | "strip" | "search_again" | "reread" | "reconcile" | "new_key" | "drop_context" | "token" | "billing"
  | "other_billing" | "versions" | "account";

/** A person has to act; nothing is sent. */
export interface Ask {
  action: "ask";
  key: "none";
  reason: AskReason;
  /** Of `setup`: where the person goes, if the seller gave a safe address. */
  address?: string;
  text: string;
}

export type AskReason =
  | "terminal" | "in_doubt" | "unpromised" | "credentials_missing" | "credentials_rejected" | "credential_in_arguments"
  | "permission" | "scope" | "agent_gate" | "seller_misconfigured" | "seller_defect" | "advisory" | "throttled" | "spent"
  | "stopped" | "billing" | "setup" | "agreement" | "consent" | "other_time" | "in_flight" | "done" | "not_retryable"
  | "unclear";

/** This seller cannot fulfil the request; nothing is sent. */
export interface Stop {
  action: "stop";
  key: "none";
  reason: StopReason;
  text: string;
}

export type StopReason = "address" | "no_agent" | "not_offered" | "certificate" | "proxy" | "local" | "final";

/** A problem of an input: where it is (JSON Pointer), which JSON Schema keyword it violates, and what to do. */
export interface Problem {
  pointer: string;
  keyword: string;
  message: string;
}

/** Input that the engine does not understand; `problems` has every problem of it. */
export class InvalidInputError extends Error {
  readonly problems: Problem[];
}

/** The recovery engine, for hosts that load `recovery.wasm` themselves. */
export class RecoveryEngine {
  constructor(module: WebAssembly.Module);
  /** Compiles the engine from a response to a request for `recovery.wasm`, as `fetch` returns it. */
  static load(response: Response | PromiseLike<Response>): Promise<RecoveryEngine>;
  /**
   * Returns the failure in an answer and the advice on it; both are null where the answer is no failure.
   *
   * @throws {InvalidInputError} when the input is not understood, with every problem of it
   */
  advise(input: Input): Output;
}
