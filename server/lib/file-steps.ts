import type * as Fs from 'node:fs'
import type * as Path from 'node:path'
import type { ThreadBody } from './workers.ts'

/** One small operation on files. A folder that is not there yet is made. Nothing of it is durable. */
export type FileStep =
  | { readonly do: 'folder'; readonly path: string }
  /** Replaces the file, and a link by a file of its own. */
  | { readonly do: 'write'; readonly path: string; readonly bytes: string | Uint8Array }
  | { readonly do: 'move'; readonly from: string; readonly to: string }
  /** A hard link. What is at `to` stays, or goes in one step where `isNew`. @throws ENOENT without `from` */
  | { readonly do: 'link'; readonly from: string; readonly to: string; readonly isNew?: true }
  /** What is at `path` stays. */
  | { readonly do: 'symlink'; readonly target: string; readonly path: string }
  /** Sets its age; nothing where it is gone. */
  | { readonly do: 'touch'; readonly path: string; readonly at: Date }
  /** A file, or a folder with all that is in it; nothing where it is gone. */
  | { readonly do: 'remove'; readonly path: string }
  /** @throws Error when the file has another size */
  | { readonly do: 'expect'; readonly path: string; readonly size: number }

/**
 * Takes steps in order, in a thread. A step costs a fifth of the CPU that a call from the event loop takes, which goes
 * through libuv's threads and a promise. Source text: it may use nothing but its parameters.
 */
export const takeSteps: ThreadBody<readonly FileStep[], undefined> = require => {
  const fs = require('node:fs') as typeof Fs
  const { dirname } = require('node:path') as typeof Path
  const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

  /** Tries, and again once the folder is there. @returns false when there is something in the place */
  function tryIn(path: string, work: () => void): boolean {
    for (const isLast of [false, true])
      try {
        work()
        return true
      } catch (error) {
        if (codeOf(error) === 'EEXIST') return false
        if (codeOf(error) !== 'ENOENT' || isLast) throw error
        fs.mkdirSync(dirname(path), { recursive: true })
      }
    return true
  }

  function link({ from, to, isNew }: Extract<FileStep, { readonly do: 'link' }>): void {
    if (tryIn(to, () => fs.linkSync(from, to)) || isNew !== true) return
    fs.rmSync(`${to}.tmp`, { force: true })
    fs.linkSync(from, `${to}.tmp`)
    fs.renameSync(`${to}.tmp`, to)
  }

  function write({ path, bytes }: Extract<FileStep, { readonly do: 'write' }>): void {
    if (tryIn(path, () => fs.writeFileSync(path, bytes, { flag: 'wx' }))) return
    // never over a link: that would change the other names of the file
    fs.unlinkSync(path)
    fs.writeFileSync(path, bytes, { flag: 'wx' })
  }

  function touch({ path, at }: Extract<FileStep, { readonly do: 'touch' }>): void {
    try {
      fs.utimesSync(path, at, at)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
  }

  function expect({ path, size }: Extract<FileStep, { readonly do: 'expect' }>): void {
    const there = fs.statSync(path).size
    if (there !== size) throw new Error(`${path} has ${there} bytes, ${size} were expected`)
  }

  function take(step: FileStep): void {
    if (step.do === 'folder') fs.mkdirSync(step.path, { recursive: true })
    else if (step.do === 'write') write(step)
    else if (step.do === 'move') fs.renameSync(step.from, step.to)
    else if (step.do === 'link') link(step)
    else if (step.do === 'symlink') tryIn(step.path, () => fs.symlinkSync(step.target, step.path))
    else if (step.do === 'touch') touch(step)
    else if (step.do === 'remove') fs.rmSync(step.path, { recursive: true, force: true })
    else expect(step)
  }

  return (_job, steps, answer) => {
    for (const step of steps) take(step)
    answer(undefined)
  }
}
