import { sentence } from '../../api.ts'
import { address, go, href } from '../../routes.svelte.ts'
import { currentSession, signIns } from '../../session.svelte.ts'
import { plural } from '../../show.ts'
import { toast } from '../../toasts.svelte.ts'
import { undoable } from '../../undo.svelte.ts'
import { send, type DecisionWords, type Said, type Subject } from './decide.ts'
import { forgetDraft, keepDraft } from './drafts.svelte.ts'
import { keyOf, pickedIn, pickOf } from './queue-query.ts'

/** A decision about one package is sent so long after it was made. */
export const UNDO_MS = 5_000

/** Decides on one package in a moment, unless it is taken back. @param how.settled  hears whether it was sent */
export function decideSoon(
  subject: Subject,
  said: Said,
  { words, settled }: { readonly words: DecisionWords; readonly settled: (sent: boolean) => void },
): void {
  const key = keyOf(subject)
  const what = `${subject.name} ${subject.version}`
  // taken back or refused, nobody types it twice
  const { decision, justification, ends, date } = said
  const draft = { decision, justification, ends, date }
  keepDraft(subject, draft)
  const by = currentSession().me?.username
  const session = signIns()
  const from = address().query
  const row = href('review', { ...from, ...pickOf(subject) })
  const notDecided = (why: string): void => {
    const { screen, query } = address()
    const open = screen === 'review' ? pickedIn(query) : undefined
    const link = open && keyOf(open) === key ? undefined : { word: 'Back to this package', href: row }
    toast('bad', `Not decided: ${what}`, why, link)
  }
  let isSent = false
  undoable({
    key,
    title: `${words.word}: ${what}`,
    text: 'It is not sent yet.',
    ms: UNDO_MS,
    undo: () => {
      settled(false)
      // with the filters of the queue, not with those of the page where it was taken back
      go('review', { ...(address().screen === 'review' ? address().query : from), ...pickOf(subject) })
    },
    act: async () => {
      try {
        // a decision is never sent in the name of whoever signed in meanwhile
        if (currentSession().me?.username !== by)
          return toast('bad', `Not decided: ${what}`, 'Whoever decided is signed out. The reason is kept for them.')
        // who signed in again may have had another thought
        if (signIns() !== session) return notDecided('The session ended before it was sent. Your reason is kept.')
        const { publication } = await send(subject, said)
        isSent = true
        forgetDraft(subject, draft)
        const about =
          said.cves.length > 0 ? `${plural(said.cves.length, ['# vulnerability', '# vulnerabilities'])}. ` : ''
        toast('good', `${words.done}: ${what}`, `${about}${publication}`)
      } catch (error) {
        notDecided(`${sentence(error)} Your reason is kept.`)
      } finally {
        settled(isSent)
      }
    },
  })
}
