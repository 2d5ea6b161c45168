import { AppError, ERRORS, fail } from '../core/errors.ts'
import type { Distribution, Repositories } from '../core/repository.ts'
import type { Queryable } from '../db/db.ts'
import { isOwned, ownersOf } from './owned.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest } from './protocol.ts'

export interface GroupDeps {
  readonly db: Queryable
  readonly repositories: Pick<Repositories, 'find' | 'registries'>
  /** The request as one to a member; undefined where the member is not for this caller. */
  readonly asMember: (member: Distribution) => RegistryRequest | undefined
}

const kindOf = ({ registry }: Distribution): string => registry?.kind ?? 'hosted'

/** The members of a group that are there, in their order. */
export function membersOf(
  { registry, format }: Distribution,
  { repositories }: Pick<GroupDeps, 'repositories'>,
): readonly Distribution[] {
  return (registry?.members ?? []).flatMap(member => {
    const found = repositories.find(member)
    return found?.kind === 'registry' && found.format === format ? [found] : []
  })
}

/** Whether a member has nothing under an address: another one may be asked. Its failure is no such thing. */
const isMissing = (answer: RegistryAnswer | undefined): boolean => answer === undefined || answer.status === 404

async function answerOf(protocol: RegistryProtocol, request: RegistryRequest): Promise<RegistryAnswer | undefined> {
  try {
    return await protocol.answer(request)
  } catch (error) {
    if (error instanceof AppError && ERRORS[error.code][0] === 404) return undefined
    throw error
  }
}

/**
 * Answers for a group. A name that belongs to the house is answered by the first member that has or had it, whatever
 * that answers, and is never looked up outside; other names by the first proxy whose upstream has them. A member that
 * the caller may not read owns its names all the same.
 * @throws registry_takes_no_uploads, name_is_ours, group_has_not, and what the protocol throws
 */
export async function answerForGroup(
  protocol: RegistryProtocol,
  request: RegistryRequest,
  deps: GroupDeps,
): Promise<RegistryAnswer | undefined> {
  const { registry: group, method } = request
  if (protocol.isQuestion?.(request) !== true && method !== 'GET' && method !== 'HEAD')
    fail('registry_takes_no_uploads', { name: group.codename, kind: 'group' })
  const members = membersOf(group, deps)
  const name = protocol.nameOf(request)
  if (name === undefined) {
    const readable = members.flatMap(member => deps.asMember(member) ?? [])
    return protocol.answer({ ...request, members: readable.map(({ registry }) => registry) })
  }
  const nobodyHas = (): never => fail('group_has_not', { name, group: group.codename })
  const owners = await ownersOf(deps, { format: group.format, name })
  const owner = members.find(member => owners.hosted.some(({ codename }) => codename === member.codename))
  if (owner !== undefined) {
    const asked = deps.asMember(owner)
    return asked === undefined ? nobodyHas() : protocol.answer(asked)
  }
  if (isOwned(owners)) fail('name_is_ours', { name })
  for (const member of members.filter(one => kindOf(one) === 'proxy')) {
    const asked = deps.asMember(member)
    const answer = asked === undefined ? undefined : await answerOf(protocol, asked)
    if (!isMissing(answer)) return answer
  }
  return nobodyHas()
}
