import type { Page } from 'playwright-core'

/** Notes the tasks of the page that hold it up for 50 ms or more, from its next load on. */
export async function watchTasks(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const tasks: number[] = []
    Object.assign(globalThis, { longTasks: tasks })
    new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) tasks.push(duration)
    }).observe({ type: 'longtask', buffered: true })
  })
}

/** The longest task since the last call in ms; 0: none took 50 ms. */
export function longestTask(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { longTasks } = globalThis as unknown as { longTasks: number[] }
    return Math.max(0, ...longTasks.splice(0))
  })
}

/** Scrolls a box by 90 pixels a frame. @returns the times between frames in ms */
export function scrollFrames(page: Page, selector: string, ms: number): Promise<readonly number[]> {
  return page.locator(selector).evaluate(
    (box, until) =>
      new Promise<number[]>(resolve => {
        const [times, start]: [number[], number] = [[], performance.now()]
        let before: number | undefined
        const frame = (now: number): void => {
          if (before !== undefined) times.push(now - before)
          before = now
          box.scrollTop += 90
          if (now - start < until) requestAnimationFrame(frame)
          else resolve(times)
        }
        requestAnimationFrame(frame)
      }),
    ms,
  )
}
