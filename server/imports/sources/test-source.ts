import { isRefusal } from '../../core/errors.ts'
import { getFormat } from '../../formats/index.ts'
import type { UpstreamRoot } from '../../formats/upstream.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { TrustedKeys } from '../../signing/trusted-keys.ts'
import { placeOf } from '../catalogue/open-root.ts'
import { troubleOf } from '../catalogue/outcome.ts'
import type { JudgeRoots } from '../catalogue/reach.ts'
import type { Reach } from '../reach/reach.ts'
import type { Source, SyncState } from '../source.ts'

/** What a look at a source found. */
export interface Tested {
  readonly state: SyncState
  /** What is wrong, with the way out; null where nothing is. */
  readonly said: string | null
  readonly roots: readonly UpstreamRoot[]
  /** The first package that its index lists; null where it lists none, or was not reached. */
  readonly sample: { readonly name: string; readonly version: string; readonly arch: string } | null
  readonly bytes: number
  readonly mirror: string | null
}

export interface TestDeps {
  readonly reach: Pick<Reach, 'open'>
  readonly keysFor: (source: Pick<Source, 'keys'>) => Promise<TrustedKeys>
  readonly judge: JudgeRoots
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
}

/** Fetches and verifies the root of a source, and the beginning of its index. Changes nothing. */
export async function testSource(deps: TestDeps, source: Source, signal: AbortSignal): Promise<Tested> {
  const now = deps.clock.now()
  let roots: readonly UpstreamRoot[] = []
  let reached: ReturnType<Reach['open']> | undefined
  let sample: Tested['sample'] = null
  const end = (state: SyncState, said: string | null): Tested => ({
    state,
    said,
    roots,
    sample,
    bytes: reached?.bytes() ?? 0,
    mirror: reached?.mirror() ?? null,
  })
  try {
    reached = deps.reach.open(source, { signal })
    const keys = await deps.keysFor(source)
    const opened = await getFormat(source.format).upstream?.open({
      ...placeOf(source, now),
      fetch: reached.fetch,
      keys,
    })
    roots = opened?.roots ?? []
    const refusal = await deps.judge(source, roots)
    if (refusal !== undefined) return end(refusal.state, refusal.said)
    for await (const entry of opened?.entries() ?? []) {
      const { name, version, arch } = entry.read().identity
      sample = { name, version, arch }
      break
    }
    return end('ok', null)
  } catch (error) {
    signal.throwIfAborted()
    const tried = { failures: 0, missing_since: null }
    const { state, said } = troubleOf(error, { inRoot: roots.length === 0, tried, now })
    if (!isRefusal(error)) deps.log.error({ err: error, source: source.key }, 'a source could not be tested')
    return end(state, said)
  }
}
