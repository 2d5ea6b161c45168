import { expect, test } from 'vitest'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { distributionOfImage } from './base-image.ts'

test.each([
  ['debian:bookworm-slim', 'bookworm'],
  ['debian:12.5', 'bookworm'],
  ['docker.io/library/debian:12@sha256:0123', 'bookworm'],
  ['registry.local:5000/base/ubuntu:22.04', 'jammy'],
  ['python:3.12-slim-bookworm', 'bookworm'],
  ['node:20-alpine3.20', 'alpine3.20'],
  ['alpine:3.19.1', 'alpine3.19'],
  ['rockylinux/rockylinux:9.3-minimal', 'rocky9'],
  ['almalinux:9', 'almalinux9'],
  ['opensuse/leap:15.6', 'opensuse-leap-15.6'],
  // the name does not say it
  ['debian', undefined],
  ['debian:latest', undefined],
  ['registry.local:5000/debian', undefined],
  ['nginx:1.25', undefined],
  ['postgres:12', undefined],
  ['debian:1', undefined],
  ['scratch', undefined],
  ['', undefined],
])('%s is of %s', (image, codename) => {
  expect(distributionOfImage(image, DEFAULT_DISTRIBUTIONS)?.codename).toBe(codename)
})
