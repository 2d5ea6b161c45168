import type { Topic } from '../db/changes.ts'
import type { Scheduler } from '../work/scheduler.ts'
import type { Foundation } from './foundation.ts'

export interface ChangeNeeds extends Pick<
  Foundation,
  'settings' | 'keyring' | 'changes' | 'leadership' | 'repositories' | 'log'
> {
  readonly scheduler: Pick<Scheduler, 'reschedule'>
  readonly vulndb: { onChanged(listener: () => void): void }
  readonly review: { readonly rematch: { soon(): void } }
  readonly keys: { oweTrees(): Promise<unknown> }
  readonly outlived: { look(): Promise<unknown> }
  readonly tellFixes: () => Promise<void>
}

/** What follows from changes while the service runs. */
export function followChanges({
  settings,
  keyring,
  changes,
  leadership,
  repositories,
  log,
  scheduler,
  vulndb,
  review,
  keys,
  outlived,
  tellFixes,
}: ChangeNeeds): void {
  settings.subscribe(
    () =>
      void scheduler
        .reschedule()
        .catch((error: unknown) => log.error({ err: error }, 'the hours of daily jobs could not be noted')),
  )
  vulndb.onChanged(() => {
    review.rematch.soon()
    void tellFixes()
  })
  const tell = (topic: Topic): void =>
    void changes.tell(topic).catch((error: unknown) => log.error({ err: error, topic }, 'other replicas were not told'))
  settings.subscribe(() => leadership.leads() && tell('settings'))
  keyring.onChange(() => tell('keys'))
  repositories.onReplaced(() => leadership.leads() && tell('distributions'))
  keyring.onChange(
    () =>
      void keys
        .oweTrees()
        .then(() => outlived.look())
        .catch((error: unknown) => log.error({ err: error }, 'the trees could not be marked for signing')),
  )
}
