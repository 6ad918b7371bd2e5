"""The lab: auditing, comparing, disclosing and bridges to other libraries.

It looks at releases, or at data that may be looked at. The core never imports it: `dphist` looks
its public names up when they are used, and its commands are an entry point.
"""
