import { MAKE_ROOM } from '../../core/disk.ts'
import { BRING_SIGNATURES, type Silence } from '../../core/policy.ts'
import type { Probe } from './probes.ts'

const FOLDER = 'Check that the disk is mounted and that the service may write to the folder.'
const DATABASE =
  'Check that PostgreSQL runs and that DATABASE_URL leads to it. The service goes on by itself when it answers.'
const SILENT_CLAMD: Readonly<Record<Silence, string>> = {
  not_set_up: 'Install clamd and set CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT; or switch validation.clamav_scan off.',
  no_signatures: BRING_SIGNATURES,
  no_answer: 'Start clamd, or correct CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT.',
}
const FULL = /the disk is full|no inodes left|quota/

const folder = ({ error = '' }: Probe): string => (FULL.test(error) ? MAKE_ROOM : FOLDER)

/** What to do about a check that is not well: the one place of each sentence. */
const REMEDIES: Readonly<Record<string, (probe: Probe & { readonly silence?: Silence }) => string>> = {
  manifests: folder,
  pool: folder,
  audit: folder,
  storage: folder,
  disk: ({ error = '' }) => (/used|free|full/.test(error) ? MAKE_ROOM : FOLDER),
  auth_db: () => DATABASE,
  manifest_db: () => DATABASE,
  packages: () => DATABASE,
  setup: () => DATABASE,
  clamav: ({ silence = 'no_answer' }) => SILENT_CLAMD[silence],
  reprepro: () => 'Install reprepro, or set APT_PUBLISHER=native.',
  gpg: probe =>
    'missing' in probe
      ? 'An admin makes one on the page Distributions.'
      : 'expiring' in probe
        ? 'An admin makes a new one on the page Distributions; both sign until clients know the new one.'
        : 'Check that keyring/ below REPOS_ROOT can be read and that SETTINGS_ENCRYPTION_KEY is the one of before.',
  scheduler: () => 'Start the service again; its log says why the scheduler did not start.',
  alembic: () => 'Start the service again: it brings the schema up to date.',
  cache_backend: () => 'Check that Redis runs and that REDIS_URL leads to it.',
}

const NO_FOLDER =
  'What is written there fails. The service says that it is not ready, so that a load balancer sends nobody here.'
const NO_DATABASE =
  'Nobody can sign in, upload, decide or publish until it answers. The service says that it is not ready, so that a load balancer sends nobody here.'

/** What a check that is not well means for the users: the one place of each sentence. */
const EFFECTS: Readonly<Record<string, (probe: Probe & { readonly level?: string }) => string | undefined>> = {
  manifests: () => NO_FOLDER,
  pool: () => NO_FOLDER,
  audit: () => 'Lines of the audit log wait in the database until the folder can be written again.',
  disk: ({ level }) =>
    level === 'stopped'
      ? 'Nothing is taken in; what is published is served on.'
      : level === 'filling'
        ? 'Nothing is refused yet.'
        : undefined,
  auth_db: () => NO_DATABASE,
  manifest_db: () => NO_DATABASE,
  reprepro: () => 'APT indexes are not written anew; clients see what was published before.',
  gpg: probe =>
    'expiring' in probe
      ? 'Once it has expired, nothing new is published and clients refuse what it signed.'
      : 'No index can be signed, so nothing new is published.',
  scheduler: () => 'Nothing begins by the clock: no backup, no synchronisation, no new vulnerability data.',
  alembic: () => 'Requests that need newer tables fail.',
  cache_backend: () => 'Replicas count limits and pass events on by way of the database, which is slower.',
}

/** Adds what it means and the way out to a check that is not well; what the probe has of it is kept. */
export function withRemedy<T extends Probe>(name: string, probe: T): T {
  if (probe.ok) return probe
  const [effect, remedy] = [probe.effect ?? EFFECTS[name]?.(probe), probe.remedy ?? REMEDIES[name]?.(probe)]
  return { ...probe, ...(effect === undefined ? {} : { effect }), ...(remedy === undefined ? {} : { remedy }) }
}

/** As `withRemedy`, for a group of them. */
export const withRemedies = <Group extends Readonly<Record<string, Probe>>>(group: Group): Group =>
  Object.fromEntries(Object.entries(group).map(([name, probe]) => [name, withRemedy(name, probe)])) as Group
