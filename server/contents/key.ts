import { createHash } from 'node:crypto'
import { receivedSha256, type Manifest } from '../core/manifest.ts'
import type { SpooledFile } from '../files/spool.ts'

/** Names the contents of several files: one of them alone says too little, since the others carry something, too. */
function keyOf([first, ...others]: readonly [string, ...string[]]): string {
  return others.length === 0
    ? first
    : createHash('sha256')
        .update([first, ...others].join('\n'))
        .digest('hex')
}

/** By what the contents of a kept version are known: the digest of its one file, or one of all digests. */
export const keyOfKept = ([first, ...others]: Manifest['files']): string =>
  keyOf([receivedSha256(first), ...others.map(receivedSha256)])

/** The same while it arrives. */
export const keyOfArriving = ({ blob, beside = [] }: Pick<SpooledFile, 'blob' | 'beside'>): string =>
  keyOf([blob.sha256, ...beside.map(file => file.blob.sha256)])
