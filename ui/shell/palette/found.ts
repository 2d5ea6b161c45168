import { call } from '../../api.ts'
import { href } from '../../routes.svelte.ts'
import { formatWord } from '../../screens/registries/registries.ts'
import { groupsOf } from '../../screens/settings/model.ts'
import { needs } from '../../session.svelte.ts'
import { plural } from '../../show.ts'
import { STATES } from '../../words.ts'
import { fitsWords, type Entry, type Group } from './entry.ts'

const SHOWN = 5

/** What was found, and the parts that could not be searched. */
export interface Found {
  readonly groups: readonly Group[]
  readonly failed: readonly string[]
}

interface Place {
  readonly heading: string
  /** Undefined where the signed-in person may not look. */
  readonly search: ((q: string, signal: AbortSignal) => Promise<Group>) | undefined
}

async function searchPackages(q: string, signal: AbortSignal): Promise<Group> {
  const { items, total } = await call('GET /packages/', { signal, query: { q, per_page: SHOWN } })
  return {
    heading: 'Packages',
    total,
    entries: items.map(({ name, version, distribution, arch, status }) => ({
      id: `package ${name} ${version} ${distribution} ${arch}`,
      icon: 'pkg',
      title: name,
      code: version,
      note: distribution,
      end: STATES[status].word,
      href: href('packages', { pick: name, version, in: distribution, arch }),
    })),
  }
}

async function searchVulnerabilities(q: string, signal: AbortSignal): Promise<Group> {
  const { vulnerabilities } = await call('GET /security/vulnerabilities', { signal, query: { q, per_page: SHOWN } })
  return {
    heading: 'Vulnerabilities',
    total: vulnerabilities.total,
    entries: vulnerabilities.items.map(({ id, severity, summary }) => ({
      id: `cve ${id}`,
      icon: 'bug',
      title: id,
      note: summary ?? '',
      end: severity,
      href: href('vulnerabilities', { cve: id }),
    })),
  }
}

async function searchMachines(q: string, signal: AbortSignal): Promise<Group> {
  const { items, total } = await call('GET /inventory/clients', { signal, query: { q, per_page: SHOWN } })
  return {
    heading: 'Machines',
    total,
    entries: items.map(({ id, hostname, distro_pretty: system, label }) => ({
      id: `machine ${id}`,
      icon: 'server',
      title: hostname,
      note: system ?? '',
      end: label ?? '',
      href: href('inventory', { pick: String(id) }),
    })),
  }
}

async function searchPeople(q: string, signal: AbortSignal): Promise<Group> {
  const { users } = await call('GET /auth/users', { signal })
  const fitting = users.filter(({ username, full_name: name }) => fitsWords(`${username} ${name ?? ''}`, q))
  return {
    heading: 'People',
    total: fitting.length,
    entries: fitting.slice(0, SHOWN).map(({ username, full_name: name, role }) => ({
      id: `person ${username}`,
      icon: 'user',
      title: name || username,
      note: username,
      end: role,
      href: href('users', { person: username }),
    })),
  }
}

async function searchDistributions(q: string, signal: AbortSignal): Promise<Group> {
  const { distributions } = await call('GET /distributions/', { signal })
  const fitting = distributions
    .filter(one => fitsWords(`${one.codename} ${one.label}`, q))
    .toSorted((a, b) => Number(b.initialized) - Number(a.initialized))
  return {
    heading: 'Distributions',
    total: fitting.length,
    entries: fitting.slice(0, SHOWN).map(({ codename, label, initialized, packages }) => ({
      id: `distribution ${codename}`,
      icon: 'layers',
      title: codename,
      note: label,
      end: initialized ? plural(packages, ['# package', '# packages']) : 'Not set up',
      href: href('distributions', { pick: codename }),
    })),
  }
}

async function searchRegistries(q: string, signal: AbortSignal): Promise<Group> {
  const { registries } = await call('GET /registries/', { signal })
  const fitting = registries.filter(one => fitsWords(`${one.name} ${one.label} ${formatWord(one.format)}`, q))
  return {
    heading: 'Registries',
    total: fitting.length,
    entries: fitting.slice(0, SHOWN).map(({ name, label, format, packages }) => ({
      id: `registry ${name}`,
      icon: 'box',
      title: name,
      note: label === name ? formatWord(format) : `${formatWord(format)}, ${label}`,
      end: plural(packages, ['# package', '# packages']),
      href: href('registries', { in: name }),
    })),
  }
}

async function searchSources(q: string, signal: AbortSignal): Promise<Group> {
  const { sources } = await call('GET /import/sync-status', { signal })
  const fitting = sources.filter(one => fitsWords(`${one.source_id} ${one.label}`, q))
  return {
    heading: 'Sources',
    total: fitting.length,
    entries: fitting.slice(0, SHOWN).map(({ source_id: key, label, codenames }) => ({
      id: `source ${key}`,
      icon: 'import',
      title: label,
      note: codenames.join(', '),
      href: href('import', { tab: 'sources', pick: key }),
    })),
  }
}

async function searchGroups(q: string, signal: AbortSignal): Promise<Group> {
  const { groups } = await call('GET /import/groups', { signal })
  const fitting = groups.filter(one => fitsWords(`${one.name} ${one.distribution}`, q))
  return {
    heading: 'Groups',
    total: fitting.length,
    entries: fitting.slice(0, SHOWN).map(({ name, distribution }) => ({
      id: `group ${name}`,
      icon: 'layers',
      title: name,
      note: distribution,
      href: href('import', { tab: 'groups', pick: name }),
    })),
  }
}

async function searchSettings(q: string, signal: AbortSignal): Promise<Group> {
  const sections = groupsOf(await call('GET /settings/schema', { signal })).flatMap(group => group.sections)
  const fitting: Entry[] = sections.flatMap(section =>
    section.blocks
      .flatMap(block => block.leaves)
      .filter(leaf => fitsWords(`${leaf.label} ${leaf.path} ${section.title}`, q))
      .map(leaf => ({
        id: `setting ${leaf.path}`,
        icon: 'settings',
        title: leaf.label,
        note: section.title,
        href: href('settings', { section: section.id }),
      })),
  )
  return { heading: 'Settings', total: fitting.length, entries: fitting.slice(0, SHOWN) }
}

const may = <T>(least: 'auditor' | 'admin', search: T): T | undefined =>
  needs(least) === undefined ? search : undefined

const places = (): readonly Place[] => [
  { heading: 'Packages', search: searchPackages },
  { heading: 'Vulnerabilities', search: searchVulnerabilities },
  { heading: 'Distributions', search: searchDistributions },
  { heading: 'Registries', search: searchRegistries },
  { heading: 'Machines', search: may('auditor', searchMachines) },
  { heading: 'People', search: may('admin', searchPeople) },
  { heading: 'Groups', search: searchGroups },
  { heading: 'Sources', search: searchSources },
  { heading: 'Settings', search: may('admin', searchSettings) },
]

/**
 * Searches everything that the signed-in person may see, at once. A part that does not answer is named, and keeps no
 * other away.
 */
export async function findEverywhere(q: string, signal: AbortSignal): Promise<Found> {
  const asked = places().flatMap(({ heading, search }) => (search === undefined ? [] : [{ heading, search }]))
  const answers = await Promise.allSettled(asked.map(({ search }) => search(q, signal)))
  return {
    groups: answers.flatMap(one => (one.status === 'fulfilled' && one.value.entries.length > 0 ? [one.value] : [])),
    failed: answers.flatMap((one, n) => (one.status === 'rejected' ? [asked[n]?.heading ?? ''] : [])),
  }
}
