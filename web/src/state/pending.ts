/**
 * A question that the host has not acknowledged yet. It stays in the tab's
 * storage under its request_id until the ack comes, so that a reload or a lost
 * line sends it again without asking it twice.
 */
import type { FileRef } from '../lib/api';
import type { SendBody } from '../lib/packets';

const KEY = 'bulkhead.pending';
const FILES_KEY = 'bulkhead.pending.files';

export function loadPending(): SendBody | null {
  try {
    const body = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as SendBody | null;
    return typeof body?.request_id === 'string' && typeof body.text === 'string' ? body : null;
  } catch {
    return null;
  }
}

/** The names of the files that the pending question carries; the wire knows ids only. */
export function loadPendingFiles(): FileRef[] {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(FILES_KEY) ?? '[]');
    return Array.isArray(list) ? (list as FileRef[]) : [];
  } catch {
    return [];
  }
}

export function storePendingFiles(files: readonly FileRef[]): void {
  if (files.length > 0) sessionStorage.setItem(FILES_KEY, JSON.stringify(files));
  else sessionStorage.removeItem(FILES_KEY);
}

export function storePending(body: SendBody | null): void {
  if (body) sessionStorage.setItem(KEY, JSON.stringify(body));
  else sessionStorage.removeItem(KEY);
}

/** A random UUID; crypto.randomUUID exists only where the page came over TLS or loopback. */
export function newRequestId(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
  b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(b, (n) => n.toString(16).padStart(2, '0')).join('');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
