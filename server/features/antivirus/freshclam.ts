import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fail } from '../../core/errors.ts'
import { ToolFailed, type Exec } from '../../lib/exec.ts'
import { listSignatures, type SignatureFile } from '../../scanners/clamav-signatures.ts'
import type { SettingsValue } from '../../settings/schema.ts'

/** The result of an update. */
export interface Updated {
  /** `current`: there was nothing newer. */
  readonly status: 'updated' | 'current'
  readonly source: 'mirror' | 'private_mirror' | 'bundle_folder'
  readonly files: readonly SignatureFile[]
  /** The last lines of freshclam's output. */
  readonly said: readonly string[]
}

export interface FreshclamDeps {
  readonly exec: Exec
  /** Where its configuration is written while it runs: below `/repos`. */
  readonly folder: string
  /** The user that signature files belong to. */
  readonly owner: string
  /** The path of freshclam, or undefined where it is not installed. */
  readonly program: () => Promise<string | undefined>
}

// the container formats and plain lists that a bundle may bring; other files there are left alone
const TAKEN = new Set([
  '.cvd',
  '.cld',
  '.cud',
  '.hdb',
  '.hsb',
  '.ndb',
  '.ldb',
  '.mdb',
  '.msb',
  '.cdb',
  '.yar',
  '.ign2',
  '.fp',
  '.sfp',
  '.cbc',
])
const OUTPUT_BYTES = 4_000_000
const SAID_LINES = 40
// `main.cvd updated (version: 62, …)`, `own.ndb updated (version: custom database, sigs: 1)`; otherwise `… is
// up-to-date (version: …)`
const IS_NEWER = / updated \(version:/

type Source = { readonly kind: Updated['source']; readonly lines: readonly string[]; readonly args: readonly string[] }

async function bundleOf(folder: string): Promise<Source> {
  const names = await readdir(folder).catch((error: unknown) =>
    fail('signatures_not_updated', { why: `the folder ${folder} cannot be read` }, error),
  )
  const files = names.filter(name => TAKEN.has(extname(name)) && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)).sort()
  if (files.length === 0) fail('signatures_not_updated', { why: `there is no signature file in ${folder}` })
  // freshclam insists on a mirror, which it then does not ask
  return {
    kind: 'bundle_folder',
    lines: [
      'PrivateMirror http://127.0.0.1:9',
      ...files.map(file => `DatabaseCustomURL file://${encodeURI(join(folder, file))}`),
    ],
    args: ['--update-db=custom'],
  }
}

async function sourceOf({ bundle_folder: folder, mirror_url: mirror }: SettingsValue['clamav']): Promise<Source> {
  if (folder !== '') return bundleOf(folder)
  if (mirror !== '')
    return { kind: 'private_mirror', lines: [`PrivateMirror ${mirror}`, 'ScriptedUpdates no'], args: ['--no-dns'] }
  return { kind: 'mirror', lines: ['DatabaseMirror database.clamav.net'], args: [] }
}

/** Makes files readable for clamd, another user: freshclam makes them 0600. */
async function openUp(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    // another user's files are not ours to change
    if (found?.isFile() === true && (found.mode & 0o044) !== 0o044)
      await chmod(path, found.mode | 0o044).catch(() => undefined)
  }
}

/** Updates signatures. */
export interface Freshclam {
  /** @throws signatures_not_updated, engine_unavailable */
  run(settings: SettingsValue['clamav']): Promise<Updated>
  /** Until when the mirror takes no more requests, ISO 8601; undefined when it said nothing of the kind. */
  coolDown(now: Date): string | undefined
}

/** What a mirror that is asked too often answers: `You are on cool-down until after: 2026-11-22 21:00:00`, UTC here. */
export function coolDownIn(said: readonly string[]): string | undefined {
  const [, day, time] = /cool-down until after: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)/.exec(said.join('\n')) ?? []
  return day === undefined ? undefined : `${day}T${time}.000Z`
}

/**
 * Updates the signatures with freshclam, which verifies and tests them before it puts them in place. One run at a time;
 * a second caller shares it.
 * @throws signatures_not_updated, engine_unavailable
 */
export function createFreshclam({ exec, folder, owner, program }: FreshclamDeps): Freshclam {
  let running: Promise<Updated> | undefined
  let coolDownUntil: string | undefined

  async function update(settings: SettingsValue['clamav']): Promise<Updated> {
    const file =
      (await program()) ??
      fail('engine_unavailable', {
        engine: 'freshclam',
        why: 'it is not installed. On Debian: apt-get install clamav-freshclam',
      })
    const database = settings.database_folder
    if (/\s/.test(`${database}${settings.bundle_folder}`))
      fail('signatures_not_updated', { why: 'freshclam takes no folder with a space in its name' })
    const source = await sourceOf(settings)
    await mkdir(folder, { recursive: true })
    const work = await mkdtemp(join(folder, 'freshclam-'))
    try {
      const config = join(work, 'freshclam.conf')
      await writeFile(
        config,
        [
          `DatabaseDirectory ${database}`,
          `DatabaseOwner ${owner}`,
          'MaxAttempts 2',
          'ConnectTimeout 20',
          'ReceiveTimeout 300',
          'TestDatabases yes',
          ...source.lines,
          '',
        ].join('\n'),
        { mode: 0o600 },
      )
      const { code, out, err } = await exec(
        file,
        [`--config-file=${config}`, '--stdout', '--foreground', ...source.args],
        {
          env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' },
          deadlineMs: settings.update_timeout_minutes * 60_000,
          maxOutputBytes: OUTPUT_BYTES,
        },
      )
      const said = `${out.toString('utf8')}\n${err}`
        .split(/[\r\n]+/)
        .map(line => line.trim())
        .filter(line => line !== '')
      coolDownUntil = coolDownIn(said)
      if (code !== 0) {
        const errors = [
          ...new Set(said.filter(line => line.startsWith('ERROR:')).map(line => line.replace(/^ERROR: */, ''))),
        ]
        fail('signatures_not_updated', {
          why: `freshclam ended with ${code}: ${(errors.length === 0 ? said.slice(-3) : errors)
            .join(' ')
            .slice(0, 600)
            .replace(/[.\s]+$/, '')}`,
        })
      }
      await openUp(database)
      return {
        status: said.some(line => IS_NEWER.test(line)) ? 'updated' : 'current',
        source: source.kind,
        files: await listSignatures(database),
        said: said.slice(-SAID_LINES),
      }
    } catch (error) {
      if (error instanceof ToolFailed)
        return fail('signatures_not_updated', { why: `freshclam did not end well: ${error.message}` }, error)
      throw error
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }

  return {
    run: settings =>
      (running ??= update(settings).finally(() => {
        running = undefined
      })),
    coolDown: now =>
      coolDownUntil !== undefined && Date.parse(coolDownUntil) > now.getTime() ? coolDownUntil : undefined,
  }
}
