import type { Changed } from '../../catalog/change.ts'
import type { Handlers, RawRequest, StreamEvent } from '../../core/contract.ts'
import { WithStatus } from '../../core/contract.ts'
import { needScope, type Principal } from '../../core/access.ts'
import { isRegistry, type Distribution, type Repositories } from '../../core/repository.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import { sha256, type FormatId } from '../../core/identity.ts'
import { isKept } from '../../core/manifest.ts'
import { STEP_NAMES, type StepName } from '../../core/report.ts'
import type { Viewer } from '../../core/viewer.ts'
import { readForm, type Form } from '../../files/form.ts'
import type { Spool } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import { recognise } from '../../formats/index.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { AskedImport, ImportMissing } from '../../imports/run/import-missing.ts'
import { passGate, type Applicant, type Gate } from '../../pipeline/gate.ts'
import type { Events } from '../../record/events.ts'
import type { Metrics } from '../../record/metrics.ts'
import type { Settings } from '../../settings/store.ts'
import { PACKAGE_FORM, type uploads } from './contract.ts'
import { chooseTarget, needComponent, type Offered } from './target.ts'
import {
  knownEvent,
  publishEvent,
  refusedEvent,
  replyOf,
  resultEvent,
  runningEvent,
  statusOf,
  stepEvent,
} from './result.ts'

export interface UploadDeps {
  readonly spool: Pick<Spool, 'receive'>
  readonly gate: Gate
  /** Every format the server knows. */
  readonly formats: readonly Format[]
  readonly repositories: Pick<Repositories, 'seenBy'>
  /** The formats that REPO_FORMAT switches on. */
  readonly activeFormats: ReadonlySet<FormatId>
  /** The words for REPO_FORMAT that switch a format on. */
  readonly switchesFor: (id: FormatId) => string
  readonly settings: Pick<Settings, 'now'>
  readonly events: Pick<Events, 'emit'>
  readonly metrics: Pick<Metrics, 'uploaded' | 'found'>
  readonly clock: Clock
  /** Asks for what a package lacks to be imported. */
  readonly importMissing: ImportMissing
}

const INDEX_WAIT_MS = 30_000

/**
 * `Prefer: respond-async` (RFC 7240, 4.1): a build server with many packages need not wait for the index after each.
 */
export function waitOf({ headers }: RawRequest): number {
  return /(^|,)\s*respond-async\s*(,|;|$)/i.test(headers.prefer?.toString() ?? '') ? 0 : INDEX_WAIT_MS
}

/**
 * The format of a file, by its first bytes; where it goes to a registry, that says it.
 * @throws unknown_format, format_not_active
 */
export function recogniseActive(
  { formats, activeFormats, switchesFor }: Pick<UploadDeps, 'formats' | 'activeFormats' | 'switchesFor'>,
  {
    head,
    filename,
    target,
  }: { readonly head: Uint8Array; readonly filename: string; readonly target?: Distribution | undefined },
): Format {
  const own = target !== undefined && isRegistry(target) ? formats.find(({ id }) => id === target.format) : undefined
  if (own !== undefined && !own.recognises(head))
    fail('unknown_format', { filename: filename.slice(0, 200), formats: own.label })
  const format = own ?? recognise(head, filename, formats)
  if (!activeFormats.has(format.id)) fail('format_not_active', { format: format.id, how: switchesFor(format.id) })
  return format
}

/** The part of a request that names the sender of a package. */
interface Asker {
  readonly raw: RawRequest
  readonly who: Principal
  readonly viewer: Viewer
}

interface Received {
  readonly applicant: Applicant
  /** Whether what it lacks is to be imported; undefined: as the settings say. */
  readonly resolve: boolean | undefined
}

/** @throws bad_request */
function resolveOf(fields: Form['fields']): boolean | undefined {
  const word = fields.get('resolve')?.trim()
  if (word === undefined || word === '') return undefined
  if (word === 'true' || word === 'false') return word === 'true'
  return fail('bad_request', { said: 'The field resolve is true or false.' })
}

/** Asks for the import of what an admitted package lacks, where its sender or the settings want that. */
async function importOf(
  { settings, importMissing, formats }: Pick<UploadDeps, 'settings' | 'importMissing' | 'formats'>,
  { outcome, manifest }: Changed,
  { resolve, raw, who }: Pick<Received, 'resolve'> & Pick<Asker, 'raw' | 'who'>,
): Promise<{ dependencies_import?: AskedImport }> {
  const { ref, state } = manifest
  const wanted = resolve ?? settings.now().import.resolve_uploads[ref.codename] === true
  const isOfRegistry = formats.some(({ id, registryClient }) => id === ref.format && registryClient !== undefined)
  if (!wanted || outcome !== 'created' || !isKept(state) || isOfRegistry) return {}
  const asked = await importMissing(manifest, { name: who.name, ip: raw.clientIp, requestId: raw.requestId })
  return asked === undefined ? {} : { dependencies_import: asked }
}

/**
 * Receives the form and identifies the sender. Refuses early, before the whole file is here, where it can. @throws
 * outside_distribution
 */
async function receive(deps: UploadDeps, { raw, who, viewer }: Asker): Promise<Received> {
  const limitBytes = deps.settings.now().validation.max_upload_size_mb * 1024 * 1024
  const offered = { formats: deps.formats, repositories: deps.repositories.seenBy(viewer) }
  const { file, fields } = await readForm(raw, {
    spool: deps.spool,
    limitBytes,
    known: Object.keys(PACKAGE_FORM.properties),
    check: ({ head, filename, fields: sofar }) => {
      const codename = sofar.get('distribution')?.trim() ?? ''
      const target = offered.repositories.find(codename)
      // the registry that says what it is may be named behind it
      if (codename === '' && offered.repositories.registries().length > 0) return
      const format = recogniseActive(deps, { head, filename, target })
      if (codename === '') return
      chooseTarget(offered, codename, format)
      needScope(who, codename)
    },
  })
  try {
    const asked = applied(deps, offered, { file, fields, headers: raw.headers })
    needScope(who, asked.distribution.codename)
    const actor = { name: who.name, ip: raw.clientIp }
    return { applicant: { file, from: 'upload', actor, ...asked }, resolve: resolveOf(fields) }
  } catch (error) {
    await file.discard()
    throw error
  }
}

/** @throws missing_field */
const codenameIn = (fields: Form['fields']): string =>
  fields.get('distribution')?.trim() || fail('missing_field', { field: 'distribution' })

/** What the fields say, checked. @throws missing_field, unknown_distribution, wrong_format, bad_digest */
function applied(
  deps: UploadDeps,
  offered: Offered,
  { file, fields, headers }: Form & Pick<RawRequest, 'headers'>,
): Pick<Applicant, 'format' | 'distribution' | 'expectedSha256' | 'component'> {
  const codename = codenameIn(fields)
  const target = offered.repositories.find(codename)
  const format = recogniseActive(deps, { head: file.head, filename: file.filename, target })
  const digest = (fields.get('sha256') ?? headers['x-checksum-sha256']?.toString() ?? '').trim().toLowerCase()
  const distribution = chooseTarget(offered, codename, format)
  const component = fields.get('component')?.trim() ?? ''
  needComponent(distribution, component)
  return {
    format,
    distribution,
    ...(component === '' ? {} : { component }),
    ...(digest === '' ? {} : { expectedSha256: sha256(digest) }),
  }
}

/** Counts the result and sends it to the dashboard. */
export function record(
  { metrics, events, clock }: Pick<UploadDeps, 'metrics' | 'events' | 'clock'>,
  { outcome, manifest }: Changed,
): void {
  const { name, version, arch, codename } = manifest.ref
  metrics.uploaded(outcome === 'already' ? 'already_imported' : manifest.state, codename)
  if (outcome !== 'created') return
  for (const { severity } of manifest.findings) metrics.found(severity, 1, codename)
  events.emit({
    type: 'upload',
    at: isoNow(clock),
    data: { name, version, arch, distribution: codename, status: manifest.state, by: manifest.by },
  })
}

async function* told(
  deps: UploadDeps,
  applicant: Applicant,
  { resolve, raw, who }: Pick<Received, 'resolve'> & Asker,
): AsyncGenerator<StreamEvent> {
  const { signal } = raw
  const steps = deps.gate.admit(applicant, signal)
  let running: StepName | undefined = 'format'
  try {
    yield runningEvent('format')
    let next = await steps.next()
    while (next.done !== true) {
      const report = next.value
      if (report.step !== running || running === 'scripts') yield runningEvent(report.step)
      yield stepEvent(report)
      running = report.outcome === 'failed' ? undefined : STEP_NAMES[STEP_NAMES.indexOf(report.step) + 1]
      // it may have nothing to say
      if (running !== undefined && running !== 'scripts') yield runningEvent(running)
      next = await steps.next()
    }
    const changed = next.value
    record(deps, changed)
    if (running !== undefined && running !== 'scripts') yield knownEvent(running)
    if (changed.outcome === 'created') yield runningEvent('publish')
    const asked = await importOf(deps, changed, { resolve, raw, who })
    const reply = { ...(await replyOf(changed, { waitMs: waitOf(raw), settings: deps.settings.now() })), ...asked }
    if (changed.outcome === 'created') yield publishEvent(reply)
    yield resultEvent(reply)
  } catch (error) {
    const message = isRefusal(error) ? error.message : 'The server failed. Nothing of it is published.'
    if (running !== undefined) yield refusedEvent(running, message)
    throw error
  } finally {
    // a client may disconnect at any event, also before the gate has started and can clean up itself
    await steps.return(undefined as never)
    await applicant.file.discard()
  }
}

/**
 * A file that is no readable package has no identity, so it cannot be kept or listed as rejected: it is refused with
 * 422 and removed. So is a file with another digest than the sender gave. A readable package that a step fails is an
 * answer, not an error: 200 with `quarantined` (malware, the policy) or `rejected` (everything else).
 */
export const uploadHandlers: Handlers<typeof uploads, UploadDeps> = {
  'POST /upload/': async (deps, input) => {
    const { applicant, resolve } = await receive(deps, input)
    const changed = await passGate(deps.gate, applicant, input.raw.signal)
    record(deps, changed)
    const asked = await importOf(deps, changed, { resolve, ...input })
    const reply = await replyOf(changed, { waitMs: waitOf(input.raw), settings: deps.settings.now() })
    return new WithStatus(statusOf(changed), { ...reply, ...asked })
  },
  'POST /upload/stream': async (deps, input) => {
    const { applicant, resolve } = await receive(deps, input)
    const { signal } = input.raw
    // a generator that is never started runs no `finally`
    const leave = (): void => {
      applicant.file.discard().catch(() => undefined)
    }
    signal.addEventListener('abort', leave, { once: true })
    return (async function* () {
      signal.removeEventListener('abort', leave)
      yield* told(deps, applicant, { ...input, resolve })
    })()
  },
}
