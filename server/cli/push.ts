import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { BatchReply, FileAnswer } from '../features/uploads/batch-contract.ts'

const USAGE = `GATEHOUSE_TOKEN=… npm run push -- --to CODENAME [--component NAME] [--url URL] FILE…
The URL may be in GATEHOUSE_URL. Prints a line for each file; ends with 1 when any was not taken.
`

/** One request has at most so many files and bytes, so that a lost connection costs little. */
const MOST_FILES = 200
const MOST_BYTES = 512 * 1024 * 1024
const MOST_TRIES = 10

interface Wish {
  readonly to: string
  readonly component: string | undefined
  readonly url: string
  readonly token: string
}

/** Ends the run with this message. */
class Stop extends Error {
  readonly exitCode: number
  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

function readWish(): { readonly wish: Wish; readonly paths: readonly string[] } {
  const text = { type: 'string' } as const
  let given
  try {
    given = parseArgs({ options: { to: text, component: text, url: text }, allowPositionals: true })
  } catch (error) {
    throw new Stop(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`, 2)
  }
  // eslint-disable-next-line no-restricted-properties -- a client of the service, which reads no environment of its own
  const { GATEHOUSE_TOKEN: token = '', GATEHOUSE_URL: from = '' } = process.env
  const { to = '', component, url = from } = given.values
  if (to === '') throw new Stop(`Say with --to which distribution they go to.\n${USAGE}`, 2)
  if (url === '') throw new Stop(`Say with --url or GATEHOUSE_URL where Gatehouse is.\n${USAGE}`, 2)
  if (!URL.canParse(url)) throw new Stop(`${url} is no URL.`, 2)
  if (token === '') throw new Stop(`Put an API token into GATEHOUSE_TOKEN.\n${USAGE}`, 2)
  if (given.positionals.length === 0) throw new Stop(`Name the files.\n${USAGE}`, 2)
  return { wish: { to, component, url, token }, paths: given.positionals }
}

/** Groups of files, each for one request. */
async function groupsOf(paths: readonly string[]): Promise<string[][]> {
  const groups: string[][] = []
  let bytes = 0
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined)
    if (found?.isFile() !== true) throw new Stop(`${path} is no file.`, 2)
    const last = groups.at(-1)
    if (last === undefined || last.length >= MOST_FILES || bytes + found.size > MOST_BYTES) {
      groups.push([path])
      bytes = found.size
    } else {
      last.push(path)
      bytes += found.size
    }
  }
  return groups
}

async function formOf({ to, component }: Wish, paths: readonly string[]): Promise<FormData> {
  const form = new FormData()
  form.set('distribution', to)
  if (component !== undefined) form.set('component', component)
  for (const path of paths) form.append('file', await openAsBlob(path), basename(path))
  return form
}

/** Sends one group; tries again where the service asks for time. */
async function send(wish: Wish, paths: readonly string[]): Promise<BatchReply> {
  const address = new URL('api/v1/upload/batch', wish.url.endsWith('/') ? wish.url : `${wish.url}/`)
  for (let tries = 1; ; tries++) {
    const headers = { Authorization: `Bearer ${wish.token}` }
    const body = await formOf(wish, paths)
    const answer = await fetch(address, { method: 'POST', headers, body }).catch((error: unknown) => {
      const { cause } = error as { readonly cause?: { readonly code?: string } }
      throw new Stop(`${address.origin} does not answer${cause?.code === undefined ? '' : ` (${cause.code})`}.`)
    })
    if (answer.ok) return (await answer.json()) as BatchReply
    const said = await answer.text()
    if (![429, 503].includes(answer.status) || tries >= MOST_TRIES)
      throw new Stop(`${answer.status} ${sayProblem(said)}`)
    const seconds = Math.max(1, Number(answer.headers.get('retry-after') ?? 5) || 5)
    process.stderr.write(`${answer.status}, again in ${seconds} s\n`)
    await sleep(seconds * 1000)
  }
}

/** The sentence in an error's `detail`, whichever of its forms it has. */
function sayDetail(detail: unknown): string {
  if (typeof detail === 'string') return detail
  const [first = detail] = Array.isArray(detail) ? (detail as unknown[]) : []
  const { msg, message } = (first ?? {}) as { readonly msg?: unknown; readonly message?: unknown }
  return String(msg ?? message ?? '')
}

function sayProblem(text: string): string {
  try {
    return sayDetail((JSON.parse(text) as { readonly detail?: unknown }).detail)
  } catch {
    return text.slice(0, 500)
  }
}

/** Prints the line of one file. @returns whether clients will get it, now or after a review */
function report({ filename, status, body }: FileAnswer): boolean {
  const line = 'code' in body ? `${body.code} ${filename}: ${sayDetail(body.detail)}` : `${body.state} ${filename}`
  process.stdout.write(`${status} ${line}\n`)
  return !('code' in body) && (body.state === 'published' || body.state === 'pending_review')
}

async function main(): Promise<number> {
  const { wish, paths } = readWish()
  let areAllTaken = true
  for (const group of await groupsOf(paths)) {
    const { files, stopped } = await send(wish, group)
    for (const file of files) areAllTaken = report(file) && areAllTaken
    if (stopped !== undefined) throw new Stop(`${stopped.status} ${sayDetail(stopped.detail)} The rest was not taken.`)
  }
  return areAllTaken ? 0 : 1
}

process.exitCode = await main().catch((error: unknown) => {
  if (!(error instanceof Stop)) throw error
  process.stderr.write(`${error.message.trimEnd()}\n`)
  return error.exitCode
})
