import { BASIC_CHALLENGE } from '../core/basic-challenge.ts'
import type { Context } from 'koa'
import type { Admission } from './tree-guard.ts'

/** Where a proxy asks that serves trees from disk itself. It keeps the address from its own callers. */
export const ADMISSION_PATH = '/internal/tree'
/** How long such a proxy may remember that a tree is open to everybody. */
const OPEN_SECONDS = 2

const STATUS: Readonly<Record<Admission, number>> = { open: 204, allowed: 204, ask: 401, absent: 403 }

/**
 * Answers nginx's `auth_request`: may this caller fetch from the tree that the header X-Tree names (such as
 * `/repos/pool/jammy`)? 204 with `X-Tree-Admission` is yes; with 401 and 403 the proxy lets the service answer the
 * request itself. Whoever asks without a proxy learns what a request for a file would say.
 */
export async function answerAdmission(
  ctx: Context,
  roots: readonly string[],
  guard: (ctx: Context, segments: readonly string[]) => Promise<Admission>,
): Promise<void> {
  ctx.state.route = ADMISSION_PATH
  const tree = ctx.get('x-tree')
  const root = roots.find(one => tree.startsWith(one) && tree !== one)
  const segments = root === undefined ? [] : tree.slice(root.length).split('/')
  const admission = root === undefined || segments.includes('') ? 'absent' : await guard(ctx, segments)
  ctx.set('X-Tree-Admission', admission)
  ctx.set('Cache-Control', admission === 'open' ? `max-age=${OPEN_SECONDS}` : 'no-store')
  if (admission === 'ask') ctx.set('WWW-Authenticate', BASIC_CHALLENGE)
  ctx.body = null
  ctx.status = STATUS[admission]
}
