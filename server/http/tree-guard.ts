import type { Context } from 'koa'
import type { Principal } from '../core/access.ts'
import { isRefusal } from '../core/errors.ts'
import type { Repositories } from '../core/repository.ts'
import type { Format } from '../formats/format.ts'
import { bearerOf } from './basic.ts'

export interface TreeGuardDeps {
  readonly repositories: Pick<Repositories, 'all' | 'find'>
  readonly formats: readonly Pick<Format, 'id' | 'site'>[]
  /** Distributions whose tree asks for a credential. */
  readonly privateTrees: () => Promise<ReadonlySet<string>>
  /** @throws an AppError of 401 */
  readonly authenticate: (authorization: string | undefined) => Promise<Principal>
  readonly hiddenFrom: (who: Principal) => Promise<readonly string[]>
}

/** `open`: no credential needed. `ask`: a credential is needed. `absent`: the caller may not see it. */
export type Admission = 'open' | 'allowed' | 'ask' | 'absent'

/** The segments that may name a distribution, without the number of a generation. */
export const namesIn = (segments: readonly string[]): readonly string[] =>
  segments.slice(0, 2).map(segment => segment.replace(/@\d+$/, ''))

/** The distributions a path may belong to: the one it names, or every one of a format for what they have in common. */
function codenamesOf(
  segments: readonly string[],
  { repositories, formats }: Pick<TreeGuardDeps, 'repositories' | 'formats'>,
): readonly string[] {
  const named = namesIn(segments).filter(name => repositories.find(name)?.kind === 'distribution')
  if (named.length > 0) return named
  const common = new Set(formats.filter(({ site }) => site?.isCommon?.(segments) === true).map(({ id }) => id))
  return repositories
    .all()
    .filter(one => common.has(one.format))
    .map(one => one.codename)
}

/** Keeps private trees to those who may see them. */
export function createTreeGuard({
  repositories,
  formats,
  privateTrees,
  authenticate,
  hiddenFrom,
}: TreeGuardDeps): (ctx: Context, segments: readonly string[]) => Promise<Admission> {
  return async (ctx, segments) => {
    const closed = await privateTrees()
    const asked = codenamesOf(segments, { repositories, formats }).filter(codename => closed.has(codename))
    if (asked.length === 0) return 'open'
    const credential = bearerOf(ctx.get('authorization'))
    if (credential === undefined) return 'ask'
    let who: Principal
    try {
      who = await authenticate(credential)
    } catch (error) {
      if (isRefusal(error)) return 'ask'
      throw error
    }
    ctx.state.who = who
    const hidden = await hiddenFrom(who)
    const mayRead = (codename: string): boolean =>
      !hidden.includes(codename) &&
      who.scope?.uploadOnly !== true &&
      (who.scope?.distributions?.includes(codename) ?? true)
    return asked.every(mayRead) ? 'allowed' : 'absent'
  }
}
