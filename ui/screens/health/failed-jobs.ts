import { href } from '../../routes.svelte.ts'
import { when } from '../../show.ts'
import { whole, type Check } from '../../words-health.ts'

interface Schedule {
  readonly jobs: readonly {
    readonly id: string
    readonly name: string
    readonly last: { readonly ran_at: string | null; readonly error: string | null } | null
  }[]
}

/** The jobs of the clock whose last run failed; none where nobody could read them. */
export const failedJobs = (schedule: Schedule | undefined): Check[] =>
  (schedule?.jobs ?? []).flatMap(({ id, name, last }): Check[] =>
    last === null || last.error === null
      ? []
      : [
          {
            id: `job-${id}`,
            group: 'info',
            name,
            state: 'warn',
            say: whole(last.error),
            more: last.ran_at === null ? undefined : `failed ${when(last.ran_at)}`,
            effect: 'What it does by the clock was not done then.',
            remedy: 'Put the cause right, then run it again.',
            way: { label: 'Jobs', to: href('jobs') },
            run: { job: id, label: 'Run now' },
          },
        ],
  )
