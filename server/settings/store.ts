import { Value } from '@sinclair/typebox/value'
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { fail, type AppError } from '../core/errors.ts'
import type { Layout } from '../files/layout.ts'
import { writeAtomic } from '../lib/atomic.ts'
import { createKeyedLock } from '../lib/keyed-lock.ts'
import { isSealed, type SecretBox } from '../lib/secret-box.ts'
import { translateLegacy } from './legacy.ts'
import { SETTINGS, type SettingsValue } from './schema.ts'
import { changeOf, type SettingChange } from './shown.ts'
import { isTree, lay, leaves, mapLeaves, MASK, overlay, refusal, refuseAll, type Tree } from './tree.ts'

/** The dotted keys whose value changed, and for the audit log what each was and is, secrets as `***`. */
export interface Patched {
  readonly changed: readonly string[]
  readonly changes: readonly SettingChange[]
}

/** The runtime configuration. `/repos/settings.json` holds only what differs from the defaults. */
export interface Settings {
  /** A frozen snapshot. A run takes one at its start and keeps it. */
  now(): SettingsValue
  /** The whole object as `GET /settings/` answers it, secrets as `***`. */
  masked(): SettingsValue
  /**
   * Merges `change` deeply, checks it, writes it atomically and informs the subscribers. `***` for a secret means
   * unchanged, and so does the value that is there. @throws unknown_setting, bad_setting, setting_not_available with
   * every faulty key, enterprise_only; then nothing has changed
   * @param check  may refuse what would be saved, by throwing
   */
  patch(change: unknown, check?: (next: SettingsValue, before: SettingsValue) => void): Promise<Patched>
  /** Reads the file again: another process has changed it. */
  reload(): Promise<void>
  subscribe(listener: (now: SettingsValue) => void): void
}

export interface SettingsDeps {
  readonly layout: Pick<Layout, 'settingsFile'>
  readonly box: SecretBox
  readonly production: boolean
  /** False while sections of the enterprise edition are locked. */
  readonly isEnterprise: () => boolean
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(freeze)
    Object.freeze(value)
  }
  return value
}

function defaultsFor(production: boolean): Tree {
  const value = Value.Create(SETTINGS) as SettingsValue
  return { ...value, validation: { ...value.validation, on_scanner_unavailable: production ? 'hold' : 'warn' } }
}

/** Reads the file and opens its secrets. @throws Error with one line that names the file or the setting */
async function load(path: string, box: SecretBox): Promise<Tree> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(
      'settings.json is damaged: it is not JSON. Restore it from a backup, or remove it to start with the defaults.',
      { cause },
    )
  }
  if (!isTree(value))
    throw new Error(
      'settings.json is damaged: it is not an object. Restore it from a backup, or remove it to start with the defaults.',
    )
  return mapLeaves(SETTINGS, value, ({ path: key, schema, value: kept }) => {
    if (schema.secret !== true || typeof kept !== 'string' || !isSealed(kept)) return kept
    try {
      return box.open(kept).toString('utf8')
    } catch (cause) {
      throw new Error(`The setting ${key} cannot be read: ${(cause as Error).message}.`, { cause })
    }
  })
}

/** The section of the enterprise edition that holds this key, if one does. */
function lockedSection(key: string): string | undefined {
  const [section = ''] = key.split('.')
  return (SETTINGS.properties as Record<string, { edition?: string }>)[section]?.edition
}

/**
 * Refuses what the community edition locks: a value there that differs, and a request for nothing else. A client may
 * send back all that it read, with what it changed.
 */
function refuseLocked(sent: readonly string[], differing: readonly string[]): void {
  const asked = sent.every(key => lockedSection(key) !== undefined) ? [...differing, ...sent] : differing
  const locked = asked.map(lockedSection).find(section => section !== undefined)
  if (locked !== undefined) fail('enterprise_only', { feature: `The settings section ${locked}` })
}

/**
 * Reads the settings once and keeps them. @throws Error in one line when the file is damaged or its key is another one
 */
export async function createSettings({ layout, box, production, isEnterprise }: SettingsDeps): Promise<Settings> {
  const defaults = defaultsFor(production)
  const lock = createKeyedLock()
  const listeners: ((now: SettingsValue) => void)[] = []
  let current = freeze(overlay(SETTINGS, defaults, await load(layout.settingsFile, box)) as SettingsValue)

  async function save(next: Tree): Promise<void> {
    const standard = new Map([...leaves(SETTINGS, defaults)].map(leaf => [leaf.path, leaf.value]))
    const differing = mapLeaves(SETTINGS, next, ({ path, schema, value }) => {
      if (isDeepStrictEqual(value, standard.get(path))) return undefined
      return schema.secret === true && typeof value === 'string' ? box.seal(value) : value
    })
    await writeAtomic(layout.settingsFile, `${JSON.stringify(differing, null, 2)}\n`, { mode: 0o600 })
  }

  return {
    now: () => current,
    masked: () =>
      mapLeaves(SETTINGS, current, ({ schema, value }) =>
        schema.secret === true && value !== '' ? MASK : value,
      ) as SettingsValue,
    patch: (change, check) =>
      lock.run('settings', async () => {
        if (!isTree(change)) return fail('bad_setting', { key: 'settings', why: 'it must be an object' })
        const faults: AppError[] = []
        const parts = translateLegacy(change, faults)
        const next = parts.reduce<Tree>((sofar, part) => lay(SETTINGS, sofar, part, { path: '', faults }), current)
        const before = new Map([...leaves(SETTINGS, current)].map(leaf => [leaf.path, leaf.value]))
        const differing = [...leaves(SETTINGS, next)].filter(
          leaf => !isDeepStrictEqual(leaf.value, before.get(leaf.path)),
        )
        if (!isEnterprise())
          refuseLocked(
            parts.flatMap(part => Object.keys(part)),
            [...differing.map(({ path }) => path), ...faults.map(({ facts }) => String(facts['key']))],
          )
        for (const { path: key, inert: why } of differing)
          if (why !== undefined) faults.push(refusal('setting_not_available', { key, why }))
        refuseAll(faults)
        const changed = differing.map(leaf => leaf.path)
        const changes = differing.map(leaf => changeOf(leaf, before.get(leaf.path)))
        if (changed.length === 0) return { changed, changes }
        check?.(next as SettingsValue, current)
        await save(next)
        current = freeze(next as SettingsValue)
        for (const listener of listeners) listener(current)
        return { changed, changes }
      }),
    reload: async () => {
      const next = freeze(overlay(SETTINGS, defaults, await load(layout.settingsFile, box)) as SettingsValue)
      if (isDeepStrictEqual(next, current)) return
      current = next
      for (const listener of listeners) listener(current)
    },
    subscribe: listener => {
      listeners.push(listener)
    },
  }
}
