import type { Snippet } from 'svelte'

/**
 * The parts that the window gives to every screen: its title, the right end of its bar, and the banners below the bar.
 */
export interface ScreenProps {
  readonly title: string
  readonly tools: Snippet
  readonly offline: Snippet
}

/** The groups of the sidebar, in its order. */
export const GROUPS = ['Work', 'Packages', 'Security', 'Appliance'] as const

export interface Screen {
  /** In the sidebar, the bar, the window's title and the list of keys. */
  readonly title: string
  /** A symbol of sprite.svg. */
  readonly icon: string
  /** Its component, below `screens/`. */
  readonly file: string
  /** Where the sidebar lists it; a screen without a group is reached in another way. */
  readonly group?: (typeof GROUPS)[number]
  /** The letter that goes there after `G`. */
  readonly key?: string
  /** The roles that may see it; without this, everybody signed in. Others read `otherwise`. */
  readonly least?: 'auditor' | 'uploader' | 'maintainer' | 'admin'
  readonly otherwise?: { readonly title: string; readonly say?: string }
}

/**
 * The screens of the console, by the path of their address (`#/packages`). Adding one is a folder in `screens/` and a
 * row here. `DOORS` are seen without a session.
 */
const SCREENS = {
  dashboard: { title: 'Dashboard', icon: 'dash', key: 'd', group: 'Work', file: 'dashboard/Dashboard.svelte' },
  review: { title: 'Review queue', icon: 'inbox', key: 'r', group: 'Work', file: 'review/Review.svelte' },
  upload: { title: 'Upload', icon: 'upload', key: 'u', group: 'Work', file: 'upload/Upload.svelte' },
  packages: { title: 'Packages', icon: 'pkg', key: 'p', group: 'Packages', file: 'packages/Packages.svelte' },
  import: { title: 'Import', icon: 'import', key: 'i', group: 'Packages', file: 'import/Import.svelte' },
  distributions: {
    title: 'Distributions',
    icon: 'layers',
    key: 't',
    group: 'Packages',
    file: 'distributions/Distributions.svelte',
  },
  registries: { title: 'Registries', icon: 'box', key: 'c', group: 'Packages', file: 'registries/Registries.svelte' },
  downloads: { title: 'Downloads', icon: 'chart', key: 'w', group: 'Packages', file: 'downloads/Downloads.svelte' },
  vulnerabilities: {
    title: 'Vulnerabilities',
    icon: 'bug',
    key: 'v',
    group: 'Security',
    file: 'vulnerabilities/Vulnerabilities.svelte',
  },
  policy: {
    title: 'Policy',
    icon: 'shield',
    key: 'o',
    group: 'Security',
    file: 'policy/Policy.svelte',
    least: 'admin',
    otherwise: { title: 'The policy belongs to admins', say: 'What it decided stands beside every package.' },
  },
  engines: { title: 'Engines', icon: 'scan', key: 'e', group: 'Security', file: 'engines/Engines.svelte' },
  inventory: {
    title: 'Inventory',
    icon: 'server',
    key: 'y',
    group: 'Security',
    file: 'inventory/Inventory.svelte',
    least: 'auditor',
    otherwise: { title: 'The inventory is for auditors, maintainers and admins' },
  },
  health: { title: 'Health', icon: 'health', key: 'h', group: 'Appliance', file: 'health/Health.svelte' },
  jobs: { title: 'Jobs', icon: 'timer', key: 'j', group: 'Appliance', file: 'jobs/Jobs.svelte' },
  machine: {
    title: 'Machine',
    icon: 'wrench',
    key: 'm',
    group: 'Appliance',
    file: 'machine/Machine.svelte',
    least: 'admin',
    otherwise: {
      title: 'The machine belongs to admins',
      say: 'Whether it is well stands on the page Health.',
    },
  },
  backups: {
    title: 'Backups',
    icon: 'db',
    key: 'b',
    group: 'Appliance',
    file: 'backups/Backups.svelte',
    least: 'admin',
    otherwise: { title: 'Backups are for admins' },
  },
  logs: {
    title: 'Logs',
    icon: 'term',
    key: 'l',
    group: 'Appliance',
    file: 'logs/Logs.svelte',
    least: 'admin',
    otherwise: { title: 'The log is for admins', say: 'What was done, by whom and why stands in the audit log.' },
  },
  audit: { title: 'Audit', icon: 'history', key: 'a', group: 'Appliance', file: 'audit/Audit.svelte' },
  users: { title: 'Users and tokens', icon: 'users', key: 'n', group: 'Appliance', file: 'users/Users.svelte' },
  settings: {
    title: 'Settings',
    icon: 'settings',
    key: 's',
    group: 'Appliance',
    file: 'settings/Settings.svelte',
    least: 'admin',
    otherwise: { title: 'Settings are for admins' },
  },
  profile: { title: 'Your profile', icon: 'user', file: 'profile/Profile.svelte' },
} as const satisfies Readonly<Record<string, Screen>>

export type ScreenName = keyof typeof SCREENS

/** The rows in their order. */
export const ROWS: readonly (Screen & { readonly name: ScreenName })[] = Object.entries<Screen>(SCREENS).map(
  ([name, row]) => ({ ...row, name: name as ScreenName }), // the keys of the table above
)

/**
 * Screens without a session have addresses too: `login` is where a single sign-on comes back to, `reset-password` where
 * a mailed link leads; `setup` is also what a fresh instance shows under any address.
 */
export const DOORS = ['setup', 'login', 'reset-password'] as const
export type Place = ScreenName | (typeof DOORS)[number]

/** Whether a path names a screen or a door. */
export const isPlace = (path: string): boolean =>
  ROWS.some(({ name }) => name === path) || DOORS.some(door => door === path)

/** The screen that a path names; unknown paths lead to the dashboard. */
export function placeAt(path: string): Place {
  return ROWS.find(({ name }) => name === path)?.name ?? DOORS.find(door => door === path) ?? 'dashboard'
}

/** The row of a place. A door that was passed shows the dashboard until its address is replaced. */
export function screenOf(place: Place): Screen {
  return ROWS.find(({ name }) => name === place) ?? SCREENS.dashboard
}
