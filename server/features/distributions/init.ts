import { listDistributionRows } from '../../catalog/queries/distributions.ts'
import type { ClientFacts, ClientSetup } from '../../core/client-setup.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import type { FormatId } from '../../core/identity.ts'
import { mainOf, type Distribution, type Repositories } from '../../core/repository.ts'
import type { Viewer } from '../../core/viewer.ts'
import type { Db } from '../../db/db.ts'
import type { Outbox } from '../../db/outbox.ts'
import type { Format } from '../../formats/format.ts'
import { clientOf } from '../../formats/index.ts'
import type { Audit } from '../../record/audit.ts'
import type { Keyring } from '../../signing/signer.ts'
import { markWhollyDirty, saveDistribution } from './store.ts'

/** A distribution as existing clients show it. */
interface Shown {
  readonly name: string
  readonly full_name: string
  readonly os: string
  readonly badge: string
  readonly color: string
  readonly package_count: number
}

const COLORS: Readonly<Record<string, string>> = { deb: '#a80030', rpm: '#1b5e9b', apk: '#0d597f' }

function shown({ label, scanner, format }: Distribution, packages: number): Shown {
  return {
    name: label,
    full_name: label,
    os: scanner?.split(':')[0] ?? format,
    badge: format.toUpperCase(),
    color: COLORS[format] ?? '#5b6672',
    package_count: packages,
  }
}

/** A distribution as the list shows it. */
export interface DistributionCard extends Shown {
  readonly codename: string
  readonly format: string
  readonly label: string
  readonly component: string
  readonly architectures: readonly string[]
  readonly components: readonly string[]
  readonly suite: string
  readonly origin: string
  /** The last day of free security updates, `YYYY-MM-DD`. */
  readonly end_of_life: string | null
  /** It is served but takes no packages. */
  readonly retired: boolean
  /** In the default set; others are an admin's own. */
  readonly builtin: boolean
  readonly based_on: string | null
  /** Null: its packages are not scanned for vulnerabilities. */
  readonly scanner: string | null
  readonly description: string
  /** An admin has set it up, or it was published because of an upload. */
  readonly initialized: boolean
  /** REPO_FORMAT lets its packages in. */
  readonly active: boolean
  /** This release writes its tree. */
  readonly publishable: boolean
  /** The number of packages in its index. */
  readonly packages: number
  readonly pending: number
  readonly quarantined: number
  readonly generation: number | null
  readonly published_at: string | null
  readonly client_line: string
  /** Once per client, as shell commands. */
  readonly setup: ClientSetup['setup']
}

export interface Initialized {
  /** `pending`: the trees under `pending` are not published yet; `message` says why. They will be. */
  readonly status: 'ok' | 'pending'
  readonly message: string
  readonly initialized: readonly string[]
  readonly pending: readonly string[]
  readonly key_generated: boolean
  readonly fingerprint: string
  readonly distributions: readonly DistributionCard[]
}

export interface DistributionDeps {
  readonly db: Db
  readonly outbox: Pick<Outbox, 'owe' | 'nudge' | 'settled'>
  readonly audit: Pick<Audit, 'owe'>
  readonly keyring: Pick<Keyring, 'keys' | 'generate' | 'rsaKeys'>
  /** The key that a first init makes, from the settings. */
  readonly newKey: () => Parameters<Keyring['generate']>[0]
  readonly repositories: Pick<Repositories, 'seenBy'>
  readonly formats: (id: FormatId) => Pick<Format, 'id' | 'client' | 'site'>
  readonly isActive: (distribution: Distribution) => boolean
  /** True where a tree can be written. */
  readonly isPublishable: (distribution: Distribution) => boolean
  /** The values of REPO_FORMAT that would activate a distribution. */
  readonly formatSetting: (distribution: Distribution) => string
}

/** The first publication of 60,000 packages takes a minute. */
const SETTLE_MS = 300_000

export async function listDistributions(
  {
    db,
    isActive,
    isPublishable,
    repositories,
    formats,
  }: Pick<DistributionDeps, 'db' | 'isActive' | 'isPublishable' | 'repositories' | 'formats'>,
  viewer: Viewer,
  facts: ClientFacts,
): Promise<DistributionCard[]> {
  const rows = new Map((await listDistributionRows(db, viewer)).map(row => [row.codename, row]))
  return repositories
    .seenBy(viewer)
    .trees.all()
    .map(distribution => {
      const { codename, format, label, archs, components, release, endOfLife, state, builtin, basedOn, scanner } =
        distribution
      const row = rows.get(codename)
      const [{ line, setup }] = clientOf(formats(format)).setups(distribution, facts)
      return {
        codename,
        format,
        label,
        component: mainOf(distribution),
        architectures: archs,
        components,
        suite: release.suite,
        origin: release.origin,
        end_of_life: endOfLife ?? null,
        retired: state === 'retired',
        builtin,
        based_on: basedOn ?? null,
        scanner: scanner ?? null,
        description: row?.description ?? '',
        initialized: row !== undefined && (row.initialized || row.generation !== null),
        active: isActive(distribution),
        publishable: isPublishable(distribution),
        packages: row?.published ?? 0,
        ...shown(distribution, row?.published ?? 0),
        pending: row?.pending ?? 0,
        quarantined: row?.quarantined ?? 0,
        generation: row?.generation ?? null,
        published_at: row?.published_at?.toISOString() ?? null,
        client_line: line,
        setup,
      }
    })
}

/** The distributions that are meant. @throws unknown_distribution, format_not_active, not_publishable */
function chosen(deps: DistributionDeps, viewer: Viewer, codename: string | undefined): readonly Distribution[] {
  const { all, get } = deps.repositories.seenBy(viewer).trees
  if (codename === undefined)
    return all().filter(one => one.state === 'active' && deps.isActive(one) && deps.isPublishable(one))
  const distribution = get(codename)
  if (!deps.isActive(distribution))
    fail('format_not_active', { format: distribution.format, how: deps.formatSetting(distribution) })
  if (!deps.isPublishable(distribution)) {
    const publishable = all()
      .filter(deps.isPublishable)
      .map(other => other.codename)
      .join(', ')
    fail('not_publishable', { codename, publishable })
  }
  return [distribution]
}

/** Sets distributions up; repeating it is harmless. One at a time, so that two first calls make one key. */
export function createInit(
  deps: DistributionDeps,
): (wish: {
  readonly codename: string | undefined
  readonly description: string | undefined
  readonly by: string
  readonly ip: string
  readonly viewer: Viewer
  readonly facts: ClientFacts
}) => Promise<Initialized> {
  const { db, outbox, audit, keyring } = deps
  let making: Promise<string> | undefined

  async function ensureKey(): Promise<{ readonly fingerprint: string; readonly generated: boolean }> {
    const known = (await keyring.keys()).find(key => key.role === 'current')
    if (known !== undefined) return { fingerprint: known.fingerprint, generated: false }
    making ??= keyring
      .generate({ ...deps.newKey(), first: true })
      .then(key => key.fingerprint)
      .finally(() => {
        making = undefined
      })
    try {
      return { fingerprint: await making, generated: true }
    } catch (error) {
      // one came in meanwhile, in another way
      if (!isRefusal(error, 'signing_key_exists')) throw error
      return ensureKey()
    }
  }

  return async ({ codename, description, by, ip, viewer, facts }) => {
    const wanted = chosen(deps, viewer, codename)
    const key = await ensureKey()
    const names = wanted.map(distribution => distribution.codename)
    const asks = await db.tx(async tx => {
      const owed: { codename: string; ask: number }[] = []
      for (const name of names) {
        await saveDistribution(tx, name, description)
        await markWhollyDirty(tx, name)
        owed.push({ codename: name, ask: await outbox.owe(tx, `publish:${name}`) })
      }
      await audit.owe(tx, {
        action: 'INIT_DISTS',
        result: 'SUCCESS',
        user: by,
        ip,
        facts: {
          kind: 'distributions.set_up',
          distributions: names,
          ...(key.generated ? { made_key: key.fingerprint } : {}),
        },
        ...(names.length === 1 && names[0] !== undefined ? { distribution: names[0] } : {}),
      })
      return owed
    })
    outbox.nudge()
    const started = performance.now()
    const done = await Promise.all(
      asks.map(async ({ codename: name, ask }) => ({
        name,
        settled: await outbox.settled(`publish:${name}`, ask, SETTLE_MS),
        ms: performance.now() - started,
      })),
    )
    const waiting = done.filter(one => !one.settled)
    const pending = waiting.map(one => one.name)
    const late = waiting.filter(one => one.ms >= SETTLE_MS).map(one => one.name)
    const failed = pending.filter(name => !late.includes(name))
    // the key of APK indexes may have been made by this very publication
    const cards = await listDistributions(deps, viewer, {
      ...facts,
      rsaKeys: (await keyring.rsaKeys()).map(one => one.key_name),
    })
    const said = [`${pending.length === 0 ? 'Published' : 'Set up'} ${names.join(', ')}.`]
    if (failed.length > 0)
      said.push(`Could not be published, and is tried again: ${failed.join(', ')}. The log says why.`)
    if (late.length > 0) said.push(`Still being published after ${SETTLE_MS / 60_000} minutes: ${late.join(', ')}.`)
    if (key.generated) said.push('A signing key was made.')
    return {
      status: pending.length === 0 ? 'ok' : 'pending',
      message: said.join(' '),
      initialized: names,
      pending,
      key_generated: key.generated,
      fingerprint: key.fingerprint,
      distributions: cards.filter(card => (names as readonly string[]).includes(card.codename)),
    }
  }
}
