import { call } from '../../api.ts'
import { createTask, type Task } from '../../task.svelte.ts'
import { plural } from '../../show.ts'
import { toast } from '../../toasts.svelte.ts'
import type { Source } from './words.ts'

/** Starts synchronisations; call it while a component is set up. @param begun  called when one was started */
export function createSyncs(begun: () => void): {
  readonly task: Task
  /** @param target  `all`, `security`, a format, or the key of a source */
  readonly start: (target: string) => void
  /** Each of these, as a job of its own; all of them as one where they are many. */
  readonly startEach: (sources: readonly Source[]) => void
} {
  const task = createTask()
  /** The limit of starts a minute leaves room for others. */
  const MOST = 6
  async function one(target: string): Promise<void> {
    const { label, already_running: isOld } = await call('POST /import/sync/start/{target}', { params: { target } })
    if (isOld) toast('info', `${label} runs already`)
  }
  return {
    task,
    start: target =>
      void task.run(target, async () => {
        await one(target)
        begun()
      }),
    startEach: sources =>
      void task.run('first', async () => {
        const targets = sources.length > MOST ? ['all'] : sources.map(({ source_id: key }) => key)
        for (const target of targets) await one(target)
        toast(
          'good',
          `${plural(targets.length, ['# synchronisation', '# synchronisations'])} begun`,
          'It goes on when you leave this screen.',
        )
        begun()
      }),
  }
}
