import { MAKE_ROOM } from '../../core/disk.ts'
import type { Probe } from './probes.ts'

const FOLDER = 'Check that the disk is mounted and that the service may write to the folder.'
const DATABASE =
  'Check that PostgreSQL runs and that DATABASE_URL leads to it. The service goes on by itself when it answers.'
const FULL = /the disk is full|no inodes left|quota/

const folder = ({ error = '' }: Probe): string => (FULL.test(error) ? MAKE_ROOM : FOLDER)

/** What to do about a check that is not well: the one place of each sentence. */
const REMEDIES: Readonly<Record<string, (probe: Probe & { readonly set_up?: boolean }) => string>> = {
  manifests: folder,
  pool: folder,
  audit: folder,
  storage: folder,
  disk: ({ error = '' }) => (/used|free|full/.test(error) ? MAKE_ROOM : FOLDER),
  auth_db: () => DATABASE,
  manifest_db: () => DATABASE,
  packages: () => DATABASE,
  setup: () => DATABASE,
  clamav: ({ set_up: isSetUp = true }) =>
    isSetUp
      ? 'Start clamd, or correct CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT.'
      : 'Install clamd and set CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT; or switch validation.clamav_scan off.',
  reprepro: () => 'Install reprepro, or set APT_PUBLISHER=native.',
  gpg: probe =>
    'missing' in probe
      ? 'An admin makes one on the page Distributions.'
      : 'Check that keyring/ below REPOS_ROOT can be read and that SETTINGS_ENCRYPTION_KEY is the one of before.',
  scheduler: () => 'Start the service again; its log says why the scheduler did not start.',
  alembic: () => 'Start the service again: it brings the schema up to date.',
  cache_backend: () =>
    'Check that Redis runs and that REDIS_URL leads to it. Until then limits count for each process.',
}

/** Adds the way out to a check that is not well. */
export function withRemedy<T extends Probe>(name: string, probe: T): T {
  const remedy = probe.ok ? undefined : REMEDIES[name]?.(probe)
  return remedy === undefined ? probe : { ...probe, remedy }
}

/** As `withRemedy`, for a group of them. */
export const withRemedies = <Group extends Readonly<Record<string, Probe>>>(group: Group): Group =>
  Object.fromEntries(Object.entries(group).map(([name, probe]) => [name, withRemedy(name, probe)])) as Group
