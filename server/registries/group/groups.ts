import { fail } from '../../core/errors.ts'
import type { Distribution, Repositories } from '../../core/repository.ts'
import { isOwned, ownersOf, ownersOfEach, type OwnedDeps, type Owners } from '../owned.ts'
import type { RegistryAnswer, RegistryProtocol, RegistryRequest, Together } from '../protocol.ts'
import { isProxy } from '../remote/remote.ts'
import { askMember } from './ask.ts'

/** The request as one to a member, by what its caller may do there; undefined where the caller may not read it. */
export type AsMember = (member: Distribution) => RegistryRequest | undefined

/** Registries that are one address for others. */
export interface Groups {
  /**
   * Answers for a group that the caller may read. A name of the house is answered by the first member that has or had
   * it, whatever that answers, and is looked up nowhere else; any other one by the first member that finds it at its
   * upstream. A member that the caller may not read owns its names all the same, and is asked for no others.
   * @throws registry_takes_no_uploads, group_keeps_name, group_has_not, and what the protocol throws
   */
  answer(protocol: RegistryProtocol, request: RegistryRequest, asMember: AsMember): Promise<RegistryAnswer | undefined>
}

export interface GroupDeps extends OwnedDeps {
  readonly repositories: Pick<Repositories, 'find' | 'registries'>
}

const isRead = ({ method }: Pick<RegistryRequest, 'method'>): boolean => method === 'GET' || method === 'HEAD'

const ownerIn = (members: readonly Distribution[], { hosted }: Owners): Distribution | undefined =>
  members.find(({ codename }) => hosted.some(one => one.codename === codename))

/** @throws registry_takes_no_uploads, naming where the caller may find it then */
function refuseWrite({ codename }: Distribution, { members }: Pick<Together, 'members'>): never {
  const hosted = members.flatMap(({ registry }) =>
    (registry.registry?.kind ?? 'hosted') === 'hosted' && registry.state === 'active' ? [registry.codename] : [],
  )
  const where = hosted.length === 0 ? 'a hosted registry' : hosted.join(' or ')
  return fail('registry_takes_no_uploads', { name: codename, kind: 'group', where })
}

/** Makes the answers of groups. */
export function createGroups(deps: GroupDeps): Groups {
  const { repositories } = deps

  /** In their order; what was removed, or is of another format by now, is no member. */
  const membersOf = ({ registry, format }: Distribution): readonly Distribution[] =>
    (registry?.members ?? []).flatMap(member => {
      const found = repositories.find(member)
      return found?.kind === 'registry' && found.format === format ? [found] : []
    })

  const speakersOf = async (
    members: readonly Distribution[],
    of: Parameters<typeof ownersOfEach>[1],
  ): ReturnType<Together['speakers']> => {
    const proxies = new Set<string>(members.filter(isProxy).map(({ codename }) => codename))
    const ownersFor = await ownersOfEach(deps, of)
    return (member, name) => {
      const owners = ownersFor(name)
      const owner = ownerIn(members, owners)
      return owner === undefined ? !isOwned(owners) && proxies.has(member) : owner.codename === member
    }
  }

  return {
    async answer(protocol, request, asMember) {
      const { codename: group, format } = request.registry
      const members = membersOf(request.registry)
      const together: Together = {
        members: members.flatMap(member => asMember(member) ?? []),
        speakers: names => speakersOf(members, { format, names }),
      }
      if (!isRead(request) && protocol.isQuestion?.(request) !== true) refuseWrite(request.registry, together)
      const name = protocol.nameOf(request)
      if (name === undefined) return (await protocol.join?.(request, together)) ?? protocol.answer(request)
      const owners = await ownersOf(deps, { format, name })
      const owner = ownerIn(members, owners)
      const asked = owner && asMember(owner)
      if (asked !== undefined) return protocol.answer(asked)
      if (isOwned(owners)) fail('group_keeps_name', { name, group })
      const joined = await protocol.join?.(request, together)
      if (joined !== undefined) return joined
      for (const one of together.members.filter(({ registry }) => isProxy(registry))) {
        const { isMissing, give } = await askMember(protocol.answer, one)
        if (!isMissing || (await protocol.hasName?.(one, name)) === true) return give()
      }
      return fail('group_has_not', { name, group })
    },
  }
}
