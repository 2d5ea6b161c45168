import { gzipSync } from 'node:zlib'
import { antivirusSilence, BRING_SIGNATURES } from '../core/policy.ts'
import type { Clock } from '../lib/clock.ts'
import { createCleanVerdicts, signaturesOf } from './clean-verdicts.ts'
import { askClamd, streamToClamd, type ClamdAddress, type Deadlines, type ScanDeadlines } from './clamd-socket.ts'
import type { AntivirusAnswer, AntivirusScanner, EngineStatus } from './scanner.ts'
import { EngineUnavailable } from './scanner.ts'
import { createUnopened } from './hidden-archives.ts'

export interface ClamdDeps {
  /** Undefined when neither CLAMD_SOCKET nor CLAMD_HOST is set. */
  readonly address: ClamdAddress | undefined
  readonly clock: Clock
  readonly deadlines?: ScanDeadlines
  /** The signatures on this machine's disk, for a clamd that does not report their age. */
  readonly signatures?: () => Promise<{ readonly version?: string; readonly at: string } | undefined>
  /** Whether this machine's disk has none. */
  readonly isWithoutSignatures?: () => Promise<boolean>
  /** How many streams clamd gets at once; below its MaxThreads. */
  readonly atOnce?: number
}

const SET_UP_BY = 'The environment variables are CLAMD_SOCKET, or CLAMD_HOST and CLAMD_PORT.'
const ID = 'clamav'
const DEADLINES: ScanDeadlines = { connectMs: 5_000, idleMs: 60_000, pingMs: 60_000, mostMs: 3_600_000 }
const STATUS_DEADLINES: Deadlines = { connectMs: 2_000, idleMs: 5_000 }
// Debian's MaxFileSize. Above it a clamd without AlertExceedsMax says OK to what it did not scan.
const UNTOLD_BYTES = 25 * 1024 * 1024
const TOLD_FOR_MS = 10 * 60 * 1000
// more levels than MaxRecursion can be set to (its hard limit is 100)
const LEVELS = 120

/** The meaning of clamd's line about one stream. @throws EngineUnavailable when the line is no answer about it */
export function readAnswer(text: string, where: string): AntivirusAnswer {
  if (text === 'stream: OK') return { kind: 'clean' }
  if (text === 'INSTREAM size limit exceeded. ERROR') {
    return { kind: 'unscannable', where, why: 'it is larger than the StreamMaxLength of clamd' }
  }
  const found = /^stream: ([\x21-\x7e]{1,200}) FOUND$/.exec(text)?.[1]
  if (found === undefined) throw new EngineUnavailable(ID, `it answered ${JSON.stringify(text.slice(0, 120))}`)
  const limit = /^Heuristics\.Limits\.Exceeded(?:\.(\w+))?/.exec(found)
  if (limit !== null)
    return {
      kind: 'unscannable',
      where,
      why: `it exceeds the ${limit[1] ?? 'limits'} of clamd, so the rest was not scanned`,
    }
  if (found.startsWith('Heuristics.Encrypted.'))
    return { kind: 'unscannable', where, why: `a part of it is encrypted (${found})` }
  return { kind: 'infected', signature: found, where }
}

/** `ClamAV 1.4.6/27777/Mon Nov 16 08:25:13 2026`, or without the last two while no official database is loaded. */
export function readVersion(
  text: string,
): Pick<EngineStatus, 'version' | 'signatures_version' | 'signatures_at'> | undefined {
  const [, version, signatures, date] = /^ClamAV ([^/]+)(?:\/(\d+)(?:\/(.+))?)?$/.exec(text) ?? []
  if (version === undefined) return undefined
  const at = date === undefined ? NaN : Date.parse(date)
  return {
    version,
    ...(signatures === undefined || signatures === '0' ? {} : { signatures_version: signatures }),
    ...(Number.isNaN(at) ? {} : { signatures_at: new Date(at).toISOString() }),
  }
}

/** Ends a scan from inside the archive that is being read. */
class Found extends Error {
  readonly answer: AntivirusAnswer

  constructor(answer: AntivirusAnswer) {
    super('malware was found')
    this.answer = answer
  }
}

/** Runs at most `n` at once; the others wait in the order of their calls. */
function createTurns(n: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = n
  const waiting: (() => void)[] = []
  return async work => {
    if (free > 0) free--
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/**
 * Nested deeper than any clamd follows: one that reports its limits answers `Heuristics.Limits.Exceeded.MaxRecursion`.
 */
function deepArchive(): Buffer {
  let bytes = Buffer.from('limits')
  for (let level = 0; level < LEVELS; level++) bytes = gzipSync(bytes)
  return bytes
}

/**
 * The engine of the antivirus step: a running clamd, over its socket. It gets the inner archives, never the package.
 * clamd opens neither .deb nor .rpm nor zstd and answers OK to EICAR inside them, so such files inside a package are
 * unpacked for it.
 */
export function createClamd({
  address,
  clock,
  signatures,
  isWithoutSignatures,
  deadlines = DEADLINES,
  atOnce = 4,
}: ClamdDeps): AntivirusScanner {
  const inTurn = createTurns(atOnce)
  const verdicts = createCleanVerdicts()
  let told: { readonly limits: Promise<boolean>; readonly until: number } | undefined

  function reach(): ClamdAddress {
    if (address === undefined)
      throw new EngineUnavailable(
        ID,
        `no antivirus engine is set up. ${SET_UP_BY.slice(0, -1)}`, // whoever says it ends the sentence
      )
    return address
  }

  /** A clamd without signatures does not start, so its socket is not there. */
  const lacksSignatures = async ({ cause }: EngineUnavailable): Promise<boolean> =>
    address !== undefined &&
    'socket' in address &&
    ['ENOENT', 'ECONNREFUSED'].includes((cause as NodeJS.ErrnoException | undefined)?.code ?? '') &&
    (await isWithoutSignatures?.()) === true

  async function probeLimits(): Promise<boolean> {
    const bytes = deepArchive()
    const { text } = await streamToClamd(
      reach(),
      (async function* () {
        yield bytes
      })(),
      deadlines,
    )
    return text.includes('Heuristics.Limits.Exceeded')
  }

  /**
   * Whether this clamd reports that it stopped at a limit (AlertExceedsMax). Asked at most every ten minutes, and only
   * for large streams.
   */
  function reportsLimits(): Promise<boolean> {
    const now = clock.now().getTime()
    if (told === undefined || told.until < now) {
      const limits = probeLimits()
      told = { limits, until: now + TOLD_FOR_MS }
      limits.catch(() => {
        told = undefined
      })
    }
    return told.limits
  }

  async function scanOne(where: string, chunks: AsyncIterable<Buffer>, signal: AbortSignal): Promise<AntivirusAnswer> {
    const { text, sentBytes, complete } = await streamToClamd(reach(), chunks, { ...deadlines, signal })
    const answer = readAnswer(text, where)
    if (answer.kind === 'clean' && !complete)
      throw new EngineUnavailable(ID, 'it answered OK before everything was sent')
    if (answer.kind !== 'clean' || sentBytes <= UNTOLD_BYTES || (await reportsLimits())) return answer
    return {
      kind: 'unscannable',
      where,
      why: `it is ${Math.ceil(sentBytes / 1e6)} MB, and this clamd does not say what it left out. Set AlertExceedsMax yes in clamd.conf`,
    }
  }

  const engine: AntivirusScanner = {
    id: ID,
    kind: 'antivirus',
    isConfigured: address !== undefined,
    async status(signal) {
      try {
        const text = await askClamd(reach(), 'VERSION', {
          ...STATUS_DEADLINES,
          ...(signal === undefined ? {} : { signal }),
        })
        const version = readVersion(text)
        if (version === undefined)
          return {
            id: ID,
            ok: false,
            silence: 'no_answer',
            error: `It answered ${JSON.stringify(text.slice(0, 120))} to VERSION.`,
          }
        const onDisk = version.signatures_at === undefined ? await signatures?.() : undefined
        return {
          id: ID,
          ok: true,
          ...(onDisk === undefined
            ? {}
            : {
                signatures_at: onDisk.at,
                ...(onDisk.version === undefined ? {} : { signatures_version: onDisk.version }),
              }),
          ...version,
        }
      } catch (error) {
        if (!(error instanceof EngineUnavailable)) throw error
        if (await lacksSignatures(error)) {
          const error = `${antivirusSilence('no_signatures')} ${BRING_SIGNATURES}`
          return { id: ID, ok: false, silence: 'no_signatures', error }
        }
        return {
          id: ID,
          ok: false,
          silence: address === undefined ? 'not_set_up' : 'no_answer',
          error: `${error.message[0]?.toUpperCase() ?? ''}${error.message.slice(1)}.`,
        }
      }
    },
    async scan(subject, signal) {
      reach() // with nobody to ask, the package is not opened
      let worst: AntivirusAnswer | undefined
      let asked: Promise<string | undefined> | undefined
      let reservations = 0
      const take = (answer: AntivirusAnswer): void => {
        if (answer.kind === 'infected') throw new Found(answer)
        if (answer.kind !== 'clean') reservations += 1
        if (worst === undefined || worst.kind === 'clean') worst = answer
      }
      // an archive found inside takes no slot of its own: the stream around it has one and waits
      const unopened = createUnopened({
        scan: async (where, chunks) => take(await scanOne(where, chunks, signal)),
        cannot: (where, why) => take({ kind: 'unscannable', where, why }),
      })
      try {
        for await (const inner of subject.inner()) {
          const { name, sha256 } = inner
          const signatures =
            sha256 === undefined ? undefined : await (asked ??= engine.status(signal).then(signaturesOf))
          if (sha256 !== undefined && verdicts.has(sha256, signatures)) {
            take({ kind: 'clean' })
            continue
          }
          const before = reservations
          take(await inTurn(() => scanOne(name, unopened.follow(name, inner.open()), signal)))
          if (sha256 !== undefined && reservations === before) verdicts.add(sha256, signatures)
        }
      } catch (error) {
        if (error instanceof Found) return error.answer
        if (error instanceof EngineUnavailable && (await lacksSignatures(error)))
          throw new EngineUnavailable(ID, 'it has no signatures of malware yet, and does not start without them', error)
        throw error
      }
      return worst ?? { kind: 'unscannable', where: 'the package', why: 'it has nothing inside that could be scanned' }
    },
  }
  return engine
}
