import { call } from '../../api.ts'
import type { Reply } from '../../wire.ts'
import { go, type Query } from '../../routes.svelte.ts'
import { plural } from '../../show.ts'
import { toast } from '../../toasts.svelte.ts'
import { undoable } from '../../undo.svelte.ts'
import { decisionWords, endOf, type Said, type Subject } from './decide.ts'
import { tickAgain, type Ticks } from './drafts.svelte.ts'
import { askFor } from './queue-query.ts'

export type ManyPreview = Reply<'POST /security/review-queue/preview'>

/** Which packages: those that are ticked, or all that the part of the address matches. */
export type Which =
  { readonly subjects: readonly Subject[] } | { readonly part: string; readonly me: string | undefined }

/** What would be decided. @throws ApiProblem */
export function previewMany(which: Which, decision: Said['decision'], signal: AbortSignal): Promise<ManyPreview> {
  if ('subjects' in which) {
    const packages = which.subjects.map(({ name, version, distribution, arch }) => ({
      name,
      version,
      distribution,
      arch,
    }))
    return call('POST /security/review-queue/preview', { body: { decision, packages }, signal })
  }
  const { sort: _, ...filter } = askFor(which.part, which.me)
  return call('POST /security/review-queue/preview', { body: { decision, filter }, signal })
}

async function takeBack(job: string, ticks: Ticks | undefined): Promise<void> {
  await call('POST /jobs/{id}/cancel', { params: { id: job } })
  const { done_count: done, total } = await call('GET /jobs/{id}', { params: { id: job } })
  if (done === 0) {
    if (ticks !== undefined && tickAgain(ticks)) go('review', JSON.parse(ticks.part) as Query)
    toast('info', 'Taken back', 'Nothing was decided.')
  } else
    toast(
      'bad',
      'Only the rest was taken back',
      `${plural(done, ['# package', '# packages'])} of ${total ?? done} had been decided on. The audit log names them.`,
    )
}

/** Sends the decision about what was looked at, and offers to take it back while its job waits. @throws ApiProblem */
export async function sendMany(
  seen: Pick<ManyPreview, 'selection' | 'undo_seconds'>,
  said: Said,
  {
    confirmed,
    count,
    ticks,
  }: { readonly confirmed: readonly number[]; readonly count: number; readonly ticks?: Ticks | undefined },
): Promise<void> {
  const expiresAt = said.ends === 'date' ? endOf(said.date) : undefined
  const { job_id: job } = await call('POST /security/review-queue/decide', {
    body: {
      selection: seen.selection,
      decision: said.decision,
      justification: said.justification.trim(),
      confirmed: [...confirmed],
      ...(expiresAt !== undefined
        ? { expires_at: expiresAt }
        : said.ends !== '' && said.ends !== 'date'
          ? { expires_days: Number(said.ends) }
          : {}),
    },
  })
  undoable({
    title: `${decisionWords(said.decision)?.word ?? said.decision}: ${plural(count, ['# package', '# packages'])}`,
    text: 'The server begins when the time is over and goes on without this window. Its job shows what became of each.',
    ms: seen.undo_seconds * 1_000,
    undo: () => takeBack(job, ticks).catch((error: unknown) => toast('bad', 'Not taken back', String(error))),
  })
}
