import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { malformed } from '../../lib/limited.ts'
import { isSecurity } from '../advisory.ts'
import { familyOf } from '../match/ecosystems.ts'
import { matchPackage, sourceOf } from '../match/match.ts'
import type { Meta } from './generation-meta.ts'
import { pieceFile } from './layout.ts'
import type { Orders } from '../versions/orders.ts'
import { openShard, type StoredRow } from './shards.ts'

/** What a row itself says: the version that repairs it is fine, and what has no fix is affected. */
function agrees(ecosystem: string, row: StoredRow, orders: Orders): boolean {
  const [span, ...more] = row.spans
  if (
    span === undefined ||
    more.length > 0 ||
    span.closed === true ||
    span.after === true ||
    row.versions !== undefined ||
    row.modules !== undefined
  )
    return true
  const version = span.to ?? (span.from === '0' ? '1' : span.from)
  // what is told under a name that nothing is asked by, or mends no vulnerability, is never found
  if (!isSecurity(row.advisory) || sourceOf({ ecosystem, name: row.name, version }).name !== row.name) return true
  const { findings } = matchPackage(
    {
      ecosystem,
      name: row.name,
      version,
      source: { name: row.name, version },
      ...(row.archs?.[0] === undefined ? {} : { arch: row.archs[0] }),
    },
    [row],
    orders,
  )
  return row.safe === true || span.to !== undefined ? findings.length === 0 : findings.length > 0
}

/**
 * Opens a piece of every table and asks it what it must know; a generation that fails is never made the current one.
 * @throws Malformed
 */
export function testGeneration(folder: string, { ecosystems }: Meta, orders: Orders): void {
  for (const [ecosystem, { pieces }] of Object.entries(ecosystems)) {
    if (familyOf(ecosystem) === undefined)
      malformed(`the self-test failed: nobody knows how versions of ${ecosystem} compare`)
    const [first, last] = [pieces[0], pieces.at(-1)]
    for (const piece of new Set([first, last])) {
      if (piece === undefined) continue
      const shard = openShard(readFileSync(join(folder, ecosystem, pieceFile(piece))))
      for (const name of shard.names().slice(0, 20)) {
        const bad = shard
          .rows(name)
          .slice(0, 50)
          .find(row => !agrees(ecosystem, row, orders))
        if (bad !== undefined)
          malformed(`the self-test failed: ${bad.advisory.id} on ${name} in ${ecosystem} is not found as it is written`)
      }
    }
  }
}
