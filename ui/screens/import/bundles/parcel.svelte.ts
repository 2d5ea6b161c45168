import { call, toProblem, type ApiProblem } from '../../../api.ts'
import { onLive } from '../../../live.svelte.ts'
import { sendFile } from '../../../send.ts'
import { currentSession } from '../../../session.svelte.ts'

/** A bundle on its way here from this computer, in pieces. */
export interface Parcel {
  readonly file: File
  /** Of the upload, once it has begun. */
  readonly id?: string
  /** Bytes that have arrived or are on their way. */
  readonly sent: number
  readonly phase: 'sending' | 'whole' | 'failed'
  readonly problem?: ApiProblem
}

// what a lost connection costs at most, and small enough to see it move
const PIECE = 8 * 2 ** 20
let parcel = $state.raw<{ readonly owner: string | undefined; readonly is: Parcel }>()
let abort: AbortController | undefined

const me = (): string | undefined => currentSession().me?.username

/** The one of this window and of who is signed in; it goes on while another screen is open. */
export const currentParcel = (): Parcel | undefined => (parcel?.owner === me() ? parcel?.is : undefined)

function set(change: Partial<Parcel>): void {
  if (parcel !== undefined) parcel = { ...parcel, is: { ...parcel.is, ...change } }
}

const CUT_OFF = 'The connection ended before the bundle was whole. What came stays: it goes on from there.'

async function pieces(file: File, id: string, from: number, signal: AbortSignal): Promise<void> {
  let at = from
  while (at < file.size) {
    const piece = new File([file.slice(at, at + PIECE)], file.name)
    const begun = at
    const answer = await sendFile(
      piece,
      { key: 'PUT /bundles/uploads/{id}', params: { id }, query: { offset: at }, cutOff: () => CUT_OFF },
      { signal, progress: sent => set({ sent: begun + sent }) },
    )
    at = (answer as { received: number }).received // our own server's shape
    set({ sent: at })
  }
}

/** Sends it, or goes on with what came of it before. */
async function send(file: File): Promise<void> {
  const mine = new AbortController()
  abort?.abort()
  abort = mine
  try {
    const { id, received } = await call('POST /bundles/uploads', {
      body: { file_name: file.name, size: file.size },
      signal: mine.signal,
    })
    set({ id, sent: received, phase: 'sending' })
    await pieces(file, id, received, mine.signal)
    if (!mine.signal.aborted) set({ phase: 'whole' })
  } catch (error) {
    if (!mine.signal.aborted) set({ phase: 'failed', problem: toProblem(error) })
  }
}

/** Takes a file in; one that was on its way stops, and what came of it stays for three days. */
export function sendBundle(file: File): void {
  parcel = { owner: me(), is: { file, sent: 0, phase: 'sending' } }
  void send(file)
}

/** Goes on where a lost connection stopped it. */
export function sendOn(): void {
  const now = currentParcel()
  if (now?.phase !== 'failed') return
  set({ phase: 'sending' })
  void send(now.file)
}

/** Lets it go from this window, without a word to the server. */
export function forgetParcel(): void {
  abort?.abort()
  parcel = undefined
}

/** Lets it go here and there. @throws ApiProblem */
export async function discardParcel(): Promise<void> {
  const id = currentParcel()?.id
  forgetParcel()
  if (id !== undefined) await call('DELETE /bundles/uploads/{id}', { params: { id } })
}

onLive(event => {
  if (event === undefined && currentParcel()?.problem?.status === 0) sendOn()
})
