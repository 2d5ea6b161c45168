import type { Changed } from '../../catalog/change.ts'
import type { Handlers } from '../../core/contract.ts'
import { needScope } from '../../core/access.ts'
import { fail, isRefusal } from '../../core/errors.ts'
import { sha256 } from '../../core/identity.ts'
import type { Distribution } from '../../core/repository.ts'
import { isForm } from '../../files/form-parser.ts'
import { readMany, type Member } from '../../files/many.ts'
import type { SpooledFile } from '../../files/spool.ts'
import type { Format } from '../../formats/format.ts'
import type { Arrivals } from '../../lib/arrivals.ts'
import type { Log } from '../../lib/log.ts'
import { passGate } from '../../pipeline/gate.ts'
import { needHosted } from '../../registries/admit.ts'
import {
  BATCH_FORM,
  MOST_FILES,
  type batches,
  type BatchReply,
  type FileAnswer,
  type Refused,
} from './batch-contract.ts'
import { recogniseActive, record, waitOf, type UploadDeps } from './handlers.ts'
import { replyOf, statusOf } from './result.ts'
import { readSums } from './sums.ts'
import { chooseTarget, needComponent } from './target.ts'

export interface BatchDeps extends UploadDeps {
  readonly arrivals: Pick<Arrivals, 'enter'>
  /** An error as a client sees it. */
  readonly problemOf: (error: unknown) => Refused & { readonly status: number }
  readonly log: Pick<Log, 'error'>
}

type BatchInput = Parameters<Handlers<typeof batches, BatchDeps>['POST /upload/batch']>[1]

/** So many packages are in the gate or before it at once; further ones wait in the sender's connection. */
const AT_ONCE = 32
const SUMS = /^SHA256SUMS$/i
const MOST_SUMS_BYTES = 256 * 1024

/** What the fields say, once they are checked. */
interface Target {
  readonly distribution: Distribution
  readonly component: string
}

/** What became of one file. */
type Fate = { readonly changed: Changed } | { readonly error: unknown }

async function readText({ body, filename }: Member): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    if ((size += chunk.length) > MOST_SUMS_BYTES) fail('bad_member', { filename, why: 'it is larger than 256 KiB' })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Ends the whole request: more files would fail in the same way, or cannot be read. */
const isEnd = (error: unknown): boolean =>
  !isRefusal(error) || ['upload_incomplete', 'storage_full', 'uploads_stopped'].includes(error.code)

/** One request with many files: takes them one by one and keeps their fates in order. */
function createBatch(deps: BatchDeps, { raw, who, viewer, query }: BatchInput) {
  const repositories = deps.repositories.seenBy(viewer)
  const offered = { formats: deps.formats, repositories }
  const limitBytes = deps.settings.now().validation.max_upload_size_mb * 1024 * 1024
  const fields = new Map<string, string>(Object.entries(query))
  const fates: { readonly filename: string; readonly fate: Promise<Fate> }[] = []
  const names = new Set<string>()
  const running = new Set<Promise<unknown>>()
  const sums = new Map<string, string>()
  let target: Target | undefined

  /** @throws missing_field, outside_distribution, unknown_distribution, bad_component, and what `needHosted` throws */
  function findTarget(): Target {
    const codename = fields.get('distribution')?.trim() || fail('missing_field', { field: 'distribution' })
    needScope(who, codename)
    const distribution = repositories.get(codename)
    needHosted(distribution)
    const component = fields.get('component')?.trim() ?? ''
    needComponent(distribution, component)
    readSums(fields.get('sha256sums') ?? '', sums)
    return { distribution, component }
  }

  /** What was received whole goes through the gate, whether or not the sender still listens. */
  async function admit(file: SpooledFile, { distribution, component }: Target): Promise<Changed> {
    let format: Format
    try {
      format = recogniseActive(deps, { head: file.head, filename: file.filename, target: distribution })
    } catch (error) {
      await file.discard()
      throw error
    }
    const digest = sums.get(file.filename)
    const changed = await passGate(
      deps.gate,
      {
        file,
        format,
        distribution,
        from: 'upload',
        actor: { name: who.name, ip: raw.clientIp },
        ...(component === '' ? {} : { component }),
        ...(digest === undefined ? {} : { expectedSha256: sha256(digest) }),
      },
      new AbortController().signal,
    )
    record(deps, changed)
    return changed
  }

  function keep(filename: string, work: Promise<Changed>): void {
    const fate = work.then(
      (changed): Fate => ({ changed }),
      (error: unknown): Fate => ({ error }),
    )
    fates.push({ filename, fate })
    running.add(fate)
    void fate.then(() => running.delete(fate))
  }

  async function receive(member: Member, { distribution }: Target): Promise<SpooledFile> {
    const { filename, why } = member
    if (why !== undefined) fail('bad_member', { filename, why })
    if (names.has(filename)) fail('bad_member', { filename, why: 'another file of this request has the same name' })
    names.add(filename)
    return deps.spool.receive(member.body, {
      limitBytes,
      filename,
      signal: raw.signal,
      check: head =>
        chooseTarget(offered, distribution.codename, recogniseActive(deps, { head, filename, target: distribution })),
    })
  }

  return {
    fates,
    codename: () => target?.distribution.codename ?? '',
    known: Object.keys(BATCH_FORM.properties),
    fields,
    async take(member: Member): Promise<void> {
      const { filename } = member
      const found = (target ??= findTarget())
      if (fates.length === 0 && names.size === 0 && member.why === undefined && SUMS.test(filename)) {
        readSums(await readText(member), sums)
        return
      }
      if (fates.length >= MOST_FILES) fail('batch_full', { most: MOST_FILES })
      try {
        const file = await receive(member, found)
        keep(filename, admit(file, found))
      } catch (error) {
        if (isEnd(error)) throw error
        keep(filename, Promise.reject(error as Error))
      }
      while (running.size >= AT_ONCE) await Promise.race(running)
    },
    end: () => Promise.all(running),
  }
}

/** An error as an answer inside the answer. */
function refusedAs(problemOf: BatchDeps['problemOf'], error: unknown): NonNullable<BatchReply['stopped']> {
  const { status, code, detail, facts } = problemOf(error)
  return { status, code, detail, ...(facts === undefined ? {} : { facts }) }
}

/** The answers in the order of the files, when the tree names what was taken. */
async function answersOf(
  { problemOf, log, settings }: Pick<BatchDeps, 'problemOf' | 'log' | 'settings'>,
  fates: ReturnType<typeof createBatch>['fates'],
  { waitMs, requestId }: { readonly waitMs: number; readonly requestId: string },
): Promise<FileAnswer[]> {
  return Promise.all(
    fates.map(async ({ filename, fate }): Promise<FileAnswer> => {
      const known = await fate
      if ('changed' in known)
        return {
          filename,
          status: statusOf(known.changed),
          body: await replyOf(known.changed, { waitMs, settings: settings.now() }),
        }
      const { status, ...body } = refusedAs(problemOf, known.error)
      if (status >= 500) log.error({ err: known.error, request_id: requestId, filename }, 'an upload failed')
      return { filename, status, body }
    }),
  )
}

/** Nothing waits for a publication of its own: the tree follows when the last file is through the gate. */
export const batchHandlers: Handlers<typeof batches, BatchDeps> = {
  'POST /upload/batch': async (deps, input) => {
    const { raw } = input
    const batch = createBatch(deps, input)
    const leave = deps.arrivals.enter('many')
    let stopped: BatchReply['stopped']
    try {
      await readMany(raw, batch)
    } catch (error) {
      if (batch.fates.length === 0 || !isRefusal(error)) throw error
      stopped = refusedAs(deps.problemOf, error)
    } finally {
      await batch.end()
      leave()
    }
    if (batch.fates.length === 0)
      isForm(raw) ? fail('missing_field', { field: 'file' }) : fail('bad_archive', { why: 'it holds no package' })
    const files = await answersOf(deps, batch.fates, { waitMs: waitOf(raw), requestId: raw.requestId })
    const taken = files.filter(({ status }) => status < 300).length
    return {
      distribution: batch.codename(),
      taken,
      refused: files.length - taken,
      files,
      ...(stopped === undefined ? {} : { stopped }),
    }
  },
}
