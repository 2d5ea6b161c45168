/** What the packages bring that the server makes itself, to try the way with: a program that says one line. */
export const SAMPLE = {
  name: 'gatehouse-hello',
  version: '1.0',
  summary: 'Says that packages of this Gatehouse arrive',
  text: 'It was made by Gatehouse to try the way to this machine. It needs nothing and can be removed.',
  path: 'usr/bin/gatehouse-hello',
  program: Buffer.from('#!/bin/sh\necho "Hello. Packages of your Gatehouse arrive here."\n'),
  license: 'MIT',
  /** Seconds since 1970, always the same, so that the same bytes are made again. */
  built: 1_700_000_000,
} as const

/** The folders of a path, the outermost first, each with a slash at its end. */
export const foldersOf = (path: string): string[] =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, depth, all) => `${all.slice(0, depth + 1).join('/')}/`)
