import { distribution } from './distribution.ts'
import type { Kind } from './matching-rules.ts'

/** `+b1` behind a version marks a rebuild of the same source. Source: Debian Developer's Reference, 5.10.2.1 */
const REBUILD = /\+b\d+$/

/**
 * Signed kernels come from sources of their own that no advisory names: `linux-signed-amd64` for `linux`,
 * `linux-signed-hwe-6.5` for `linux-hwe-6.5`.
 */
function signedKernel(source: string): string | undefined {
  return /^linux-signed(?:-|$)/.test(source)
    ? source.replace('-signed', '').replace(/-(?:amd64|arm64|i386)$/, '')
    : undefined
}

/** Debian and Ubuntu: sources without a rebuild's suffix, and never one that only signs another's build. */
export const deb: Kind = {
  ...distribution,
  sourceOf(own, { version }) {
    const signed = signedKernel(own.name)
    return signed === undefined ? { ...own, version: own.version.replace(REBUILD, '') } : { name: signed, version }
  },
  sourceVersion({ spans }, { query, source }) {
    const { version } = query.source ?? query
    if (version === source.version || version.replace(REBUILD, '') !== source.version) return source.version
    // where the fix is itself a rebuild, the number of the rebuild decides
    return spans.some(({ from, to = '' }) => REBUILD.test(from) || REBUILD.test(to)) ? version : source.version
  },
}
