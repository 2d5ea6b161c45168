import { phrase } from '../../show.ts'
import type { Reply } from '../../wire.ts'

type Flow = Reply<'GET /dashboard/gate'>

/** What leaves the band below a step, with the words and symbols that tell them apart without colour. */
export const DROPS = [
  { result: 'held', icon: 'review', tone: 'review-c', word: phrase('held'), stream: 'review' },
  { result: 'refused', icon: 'quarantined', tone: 'quar-c', word: phrase('refused'), stream: 'quarantined' },
  {
    result: 'unavailable',
    icon: 'unavailable',
    tone: 'warn-c',
    word: 'not looked at',
    stream: 'unlooked',
  },
  { result: 'skipped', icon: 'minus', tone: 'dim', word: phrase('skipped'), stream: '' },
] as const

/** One line that leaves the band, in the drawing's 800 × 108. */
interface Stream {
  readonly id: string
  readonly tone: string
  readonly width: number
  readonly path: string
}

/** The columns of the drawing: 110 for what arrived, 114 for what is published, the steps between them. */
export const columnsOf = (steps: number): { readonly left: number; readonly each: number } => ({
  left: 110,
  each: 576 / Math.max(1, steps),
})

/** A line for what each step held, refused or could not look at; thicker for more of what arrived. */
export function streamsOf({ arrived, steps }: Pick<Flow, 'arrived' | 'steps'>): readonly Stream[] {
  const { left, each } = columnsOf(steps.length)
  return steps.flatMap((step, at) => {
    const drawn = DROPS.filter(({ result, stream }) => stream !== '' && step[result] > 0)
    return drawn.map(({ result, stream }, n) => {
      const x = Math.round(left + each * (at + 0.5) + (n - (drawn.length - 1) / 2) * 12)
      const width = Math.max(2.5, Math.min(10, (step[result] / Math.max(1, arrived)) * 40))
      return {
        id: `${step.name} ${result}`,
        tone: stream,
        width: Math.round(width * 10) / 10,
        path: `M${x - 26} 58 C${x} 58 ${x} 72 ${x} 108`,
      }
    })
  })
}
